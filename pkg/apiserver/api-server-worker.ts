/** One worker of an API server: the whole way of a request, over the objects that the main thread keeps. */
import { setMaxListeners } from 'node:events';
import { aborted } from '#apimachinery/async/aborted.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { ApiServer } from '#apiserver/apiserver.js';
import type { CompleteApiServerParts } from '#apiserver/complete-api-server.js';
import { followCertificate } from '#apiserver/follow-certificate.js';
import { serveUntil } from '#apiserver/serve-until.js';
import type { WorkerLink } from '#apiserver/workers/worker-link.js';
import type { Daemon } from '#daemon/daemon.js';
import { collectWhenIdle } from '#daemon/memory/collect-when-idle.js';

export class ApiServerWorker implements Daemon {
  readonly name: string;
  readonly server: ApiServer;
  readonly #parts: CompleteApiServerParts;
  readonly #link: WorkerLink;
  readonly #closing = new AbortController();
  readonly #authorized = deferred();
  #work: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: CompleteApiServerParts, link: WorkerLink) {
    this.#parts = parts;
    this.#link = link;
    setMaxListeners(0, this.#closing.signal);
    const { dependencies } = parts;
    const { storages } = dependencies;
    const { signal } = this.#closing;
    this.server = new ApiServer(parts.options, {
      ...dependencies,
      healthChecks: [...(dependencies.healthChecks ?? []), ...link.healthChecks()],
      stopping: () => link.control.stopping,
      // Those that come in place of another leave connections to the others until they can serve them.
      ...(link.data.early
        ? {}
        : {
            beforeListening: async () => {
              await Promise.all([storages.waitReady(signal), this.#authorized.promise]);
            },
          }),
    });
    this.name = this.server.name;
  }

  start(signal: AbortSignal): Promise<void> {
    this.#work ??= this.#run(signal);
    return this.#work;
  }

  ready(): Promise<void> {
    return this.server.ready();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#work?.catch(() => undefined);
    await this.#shutDown();
  }

  #run(signal: AbortSignal): Promise<void> {
    const { server } = this;
    return serveUntil(signal, {
      server,
      closing: this.#closing,
      work: async (closing) => {
        this.#link.begin();
        await Promise.race([this.#settle(closing), aborted(closing)]);
        if (!closing.aborted) await this.#keep(closing);
      },
      shutDown: () => this.#shutDown(),
    });
  }

  async #settle(signal: AbortSignal): Promise<void> {
    const { authorization, aggregation } = this.#parts;
    await Promise.all([authorization.start(signal), aggregation.start(signal)]);
    this.#authorized.resolve();
    await this.server.ready();
    this.#link.ready();
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { dependencies, idleCollection, aggregation } = this.#parts;
    const { clock } = dependencies;
    await Promise.all([
      idleCollection === undefined ? undefined : collectWhenIdle({ ...idleCollection, clock }, signal),
      followCertificate(this.server, this.#parts, signal),
      aggregation.followIdentity(signal),
      aggregation.documents.run(signal),
      aborted(signal),
    ]);
  }

  #shutDown(): Promise<void> {
    this.#closed ??= (async () => {
      this.#closing.abort();
      await this.server.close();
      await this.#parts.dependencies.storages.stores.close({ main: this.#parts.closeStore });
      await this.#parts.dependencies.tracer?.close();
      this.#link.close();
    })();
    return this.#closed;
  }
}
