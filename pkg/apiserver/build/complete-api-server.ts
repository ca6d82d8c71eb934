/**
 * The API server with everything that a cluster needs around it. It is ready when its own objects exist and its authorizers
 * know the roles.
 *
 * Order: server and caches → authorizers → the cluster's own objects → ready; then the work of `upkeep.ts`, until the end.
 */
import { setMaxListeners } from 'node:events';
import type { AddressInfo } from 'node:net';
import { aborted } from '#apimachinery/async/abort.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { builtInVersions, type LocalVersion } from '#apiserver/aggregation/registration/local-services.js';
import { publishAuthentication } from '#apiserver/bootstrap/authentication-config-map.js';
import { bootstrapCluster, bootstrapNamespaces } from '#apiserver/bootstrap/bootstrap.js';
import { ApiServer, type ApiServerDependencies, type ApiServerOptions } from '#apiserver/build/api-server.js';
import type { AuthorizationParts } from '#apiserver/build/authorization.js';
import { StartupChecks } from '#apiserver/build/startup-checks.js';
import { keepUp, newApiService, type UpkeepParts } from '#apiserver/build/upkeep.js';
import type { ApiHandler } from '#apiserver/http/exchange.js';
import { ServerIdentity } from '#apiserver/identity/server-identity.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import { StorageVersions } from '#apiserver/storageversions/keep-versions.js';
import type { WorkerLink } from '#apiserver/workers/worker-link.js';
import type { Client } from '#client/client.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import type { Daemon } from '#daemon/daemon.js';

export interface CompleteApiServerParts extends UpkeepParts {
  readonly options: ApiServerOptions;
  readonly dependencies: ApiServerDependencies;
  /** The server owns its main store. */
  readonly closeStore: boolean;
  readonly authorization: AuthorizationParts;
  /** Name of the server, where the feature is on. */
  readonly identity: string | undefined;
  /** Link to the supervisor, if this server is one of its workers. */
  readonly worker: WorkerLink | undefined;
}

const bootstrapTimeoutMs = 60_000;
const bootstrapRetryMs = 1000;
/** Registration needs a limit because it may call webhooks. */
const registrationTimeoutMs = 10_000;

export class CompleteApiServer implements Daemon {
  readonly name: string;
  readonly server: ApiServer;
  readonly #parts: CompleteApiServerParts;
  readonly #closing = new AbortController();
  readonly #ready = deferred();
  readonly #authorized = deferred();
  readonly #client: RestClient;
  /** The versions served before any definition is read. */
  readonly #builtIn: ReadonlyMap<string, LocalVersion>;
  readonly #identity: ServerIdentity | undefined;
  readonly #versions: StorageVersions | undefined;
  readonly #startup: StartupChecks;
  #registering: Promise<void> | undefined;
  #work: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: CompleteApiServerParts) {
    this.#parts = parts;
    // Every part of the upkeep listens to this signal.
    setMaxListeners(0, this.#closing.signal);
    const { dependencies } = parts;
    const { dialect, clock } = dependencies.environment;
    this.#startup = new StartupChecks(clock, parts.values['livez-grace-period']);
    const othersServe = parts.worker?.place.othersServe === true;
    const { endpoints } = dependencies;
    const healthChecks = [...(endpoints?.healthChecks ?? []), ...this.#startup.checks(dialect, () => othersServe)];
    this.server = new ApiServer(parts.options, {
      ...dependencies,
      endpoints: { ...endpoints, healthChecks },
      // Until this worker can serve, connections go to the other workers.
      ...(othersServe ? { beforeListening: () => this.#canServe() } : {}),
    });
    this.name = this.server.name;
    this.#builtIn = builtInVersions(this.server.resources.all());
    const user = { name: dialect.users.apiServer, groups: [dialect.groups.masters] };
    const transport = new InProcessTransport({ handler: this.server.handler, user });
    this.#client = new RestClient({ transport, dialect, clock, userAgent: `${this.name}/${dialect.version}` });
    this.#identity = this.#newIdentity();
    this.#versions = this.#newVersions();
  }

  /** For daemons in the same process. */
  get handler(): ApiHandler {
    return this.server.handler;
  }

  /** The address that the server listens on; undefined without a socket or before the server is ready. */
  get address(): AddressInfo | undefined {
    return this.server.address;
  }

  /** A client with all rights, by function call. */
  get client(): Client {
    return this.#client;
  }

  /** Parts of long work that wait for their turn of the event loop. */
  get waitingTurns(): number {
    return this.#parts.dependencies.environment.turns.waiting;
  }

  /** The caches over the stores. */
  get storages(): ResourceStorages {
    return this.#parts.storage.storages;
  }

  start(signal: AbortSignal): Promise<void> {
    this.#work ??= this.#run(signal);
    return this.#work;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // `start` reports the error to its caller.
    await this.#work?.catch(() => undefined);
    await this.#shutDown();
  }

  /** Serves until the signal aborts or the server is closed. Rejects with the error of the server or of the work. */
  async #run(signal: AbortSignal): Promise<void> {
    const closing = this.#closing;
    const stop = () => closing.abort();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    // Only `#shutDown` ends the server, so that the upkeep can finish while requests are still answered.
    const serverEnd = this.server.start(new AbortController().signal).finally(stop);
    // Before the server is ready, its `ready` reports the failure.
    serverEnd.catch(() => undefined);
    try {
      await Promise.all([this.#serve(closing.signal), this.#parts.worker?.beat(closing.signal)]);
    } catch (error) {
      // Stopping interrupts the work; that is not a failure.
      if (!closing.signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      await this.#shutDown();
    }
    await serverEnd;
  }

  async #serve(closing: AbortSignal): Promise<void> {
    try {
      await Promise.race([Promise.all([this.server.ready(), this.#authorize(closing)]), aborted(closing)]);
      if (closing.aborted) return;
      this.#startup.done('filled', 'definitions');
      await this.#settle(closing);
      if (!closing.aborted) await this.#keepUp(closing);
    } catch (error) {
      if (!closing.aborted) this.#ready.reject(error);
      throw error;
    }
  }

  /** Requests under way end first, then their dependencies. */
  #shutDown(): Promise<void> {
    this.#closed ??= (async () => {
      const { storage, closeStore, dependencies } = this.#parts;
      this.#closing.abort();
      await this.#client.close();
      await this.server.close();
      await storage.stores.close({ main: closeStore });
      await dependencies.environment.tracer?.close();
      this.#ready.reject(new Error('closed before it was ready'));
    })();
    return this.#closed;
  }

  async #authorize(signal: AbortSignal): Promise<void> {
    const { authorization, aggregation, dependencies } = this.#parts;
    await Promise.all([authorization.start(signal), aggregation.start(signal)]);
    await dependencies.access.visibility?.start(signal);
    this.#authorized.resolve();
  }

  /** Resolves when the caches are filled and the authorizers know the roles. */
  async #canServe(): Promise<void> {
    const { storages } = this.#parts.storage;
    await Promise.all([storages.waitReady(this.#closing.signal), this.#authorized.promise]);
  }

  /** Resolves when clients can use the cluster. */
  async #settle(signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#parts.dependencies.environment;
    const started = clock.monotonic();
    for (;;) {
      try {
        await this.#bootstrap(signal);
        break;
      } catch (err) {
        // Try again: the store may be unavailable for a moment.
        if (signal.aborted || clock.monotonic() - started > bootstrapTimeoutMs) throw err;
        log.warn({ err }, "could not create the cluster's own objects, trying again");
        await clock.sleep(bootstrapRetryMs, signal);
      }
    }
    await this.#register(signal);
    this.#startup.done('registered');
    log.info({ ms: Math.round(clock.monotonic() - started) }, "the cluster's own objects exist");
    this.#ready.resolve();
    this.#parts.worker?.serving();
  }

  /** Registers the built-in versions; becomes ready without them if that takes too long. */
  async #register(signal: AbortSignal): Promise<void> {
    const { aggregation, dependencies } = this.#parts;
    const { clock, log } = dependencies.environment;
    const { settled, over } = aggregation.keepLocal(this.#client, this.#builtIn, signal);
    // The upkeep awaits it.
    over.catch(() => undefined);
    this.#registering = over;
    const cancel = new AbortController();
    const timeout = clock.sleep(registrationTimeoutMs, AbortSignal.any([signal, cancel.signal])).then(() => 'timeout');
    if ((await Promise.race([settled, over, timeout])) === 'timeout' && !signal.aborted) {
      log.warn('could not register all APIServices of built-in groups yet');
    }
    cancel.abort();
  }

  async #bootstrap(signal: AbortSignal): Promise<void> {
    const { gate = () => false } = this.#parts.dependencies.resources;
    await bootstrapNamespaces(this.#client, signal);
    // Other writes wait until the storage versions are recorded, and a record needs the server's identity.
    await this.#identity?.ensure(signal);
    await this.#versions?.ensure(signal);
    await bootstrapCluster({ client: this.#client, gate }, signal);
    this.#startup.done('defaults');
    await this.#publishAuthentication(signal);
    this.#startup.done('authentication');
    await newApiService(this.#parts, this.#client, this.address).ensure(signal);
    this.#startup.done('service');
  }

  #publishAuthentication(signal: AbortSignal): Promise<void> {
    const { authentication, values, dependencies } = this.#parts;
    const { clients, frontProxies } = authentication.authorities;
    const facts = {
      clientCA: clients?.text,
      requestHeaderCA: frontProxies?.text,
      allowedNames: values['requestheader-allowed-names'],
      usernameHeaders: values['requestheader-username-headers'],
      groupHeaders: values['requestheader-group-headers'],
      extraHeaderPrefixes: values['requestheader-extra-headers-prefix'],
    };
    const { clock } = dependencies.environment;
    return publishAuthentication({ client: this.#client, clock }, facts, signal);
  }

  #newIdentity(): ServerIdentity | undefined {
    const { identity: id, values, dependencies } = this.#parts;
    if (id === undefined) return undefined;
    const { clock, clusterClock = clock, log } = dependencies.environment;
    const leaseSeconds = values['identity-lease-duration-seconds'];
    const renewMs = values['identity-lease-renew-interval-seconds'] * 1000;
    return new ServerIdentity({ id, client: this.#client, clock: clusterClock, log, leaseSeconds, renewMs });
  }

  #newVersions(): StorageVersions | undefined {
    const { identity: id, storage, dependencies } = this.#parts;
    const { clock, log } = dependencies.environment;
    const barrier = dependencies.endpoints?.barrier;
    if (id === undefined || barrier === undefined) return undefined;
    const resources = this.server.resources.all();
    return new StorageVersions({ id, barrier, resources, reader: storage.reader, client: this.#client, clock, log });
  }

  async #keepUp(signal: AbortSignal): Promise<void> {
    const { server } = this;
    await keepUp(
      this.#parts,
      {
        server,
        client: this.#client,
        certificatesChanged: () => this.#publishAuthentication(signal),
        work: [this.#registering, this.#identity?.run(signal), this.#versions?.run(signal)],
      },
      signal,
    );
  }
}
