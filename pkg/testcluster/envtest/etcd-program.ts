/** `etcd` of a KUBEBUILDER_ASSETS: a store in memory behind etcd's API, which also runs the API servers that attach to it. */
import { readFile } from 'node:fs/promises';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Daemon } from '#daemon/daemon.js';
import { OptionsError } from '#daemon/options/option.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { ApiServerHost } from '#testcluster/envtest/api-server-host.js';
import { etcdOptionTable } from '#testcluster/envtest/etcd-options.js';
import { EtcdServer, type EtcdServerTls } from '#testcluster/etcd/etcd-server.js';

type Options = typeof etcdOptionTable;
type Context = ProgramContext<Options>;

/** @param hostFor Runs API servers on the store; called once. */
export function envtestEtcd(hostFor: (store: MemoryStore) => ApiServerHost): Program<Options> {
  return {
    name: () => 'etcd',
    description: 'Keeps objects in memory for tests, and speaks the API of etcd.',
    options: () => etcdOptionTable,
    create: (context) => new EnvtestEtcd(context, hostFor),
  };
}

class EnvtestEtcd implements Daemon {
  readonly name = 'etcd';
  readonly #context: Context;
  readonly #store: MemoryStore;
  readonly #host: ApiServerHost;
  readonly #ready = deferred();
  readonly #stopped = deferred();
  #server: EtcdServer | undefined;
  #closed: Promise<void> | undefined;

  constructor(context: Context, hostFor: (store: MemoryStore) => ApiServerHost) {
    this.#context = context;
    this.#store = new MemoryStore(context);
    this.#host = hostFor(this.#store);
    // Not awaited by every owner.
    this.#ready.promise.catch(() => undefined);
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { values, clock, random } = this.#context;
    if (signal.aborted) return;
    signal.addEventListener('abort', () => this.#stopped.resolve(), { once: true });
    const listening = values['listen-client-urls'].map(listeningUrl);
    const isSecure = listening.some(({ protocol }) => protocol === 'https:');
    const advertised = values['advertise-client-urls'];
    const server = new EtcdServer({
      ...{ store: this.#store, clock, random, name: values.name, peerUrls: values['initial-advertise-peer-urls'] },
      ...(advertised.length === 0 ? {} : { clientUrls: advertised }),
      ...(isSecure ? { tls: await tlsOf(values) } : {}),
      // Not before it is found healthy: loading takes the event loop for itself.
      onHealth: () => this.#host.prepare(),
      onUpgrade: this.#host.attach,
    });
    this.#server = server;
    for (const { hostname, port } of listening) await server.listen(hostname, port);
    this.#ready.resolve();
    await this.#stopped.promise;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#stopped.resolve();
    this.#ready.reject(new Error('closed before it was ready'));
    await this.#host.close();
    await this.#server?.close();
    await this.#store.close();
  }
}

/** Throws OptionsError. */
function listeningUrl(text: string): { readonly protocol: string; readonly hostname: string; readonly port: number } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new OptionsError([`--listen-client-urls: ${JSON.stringify(text)} is not a URL of http or https`]);
  }
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  return { protocol: url.protocol, hostname, port: url.port === '' ? 2379 : Number(url.port) };
}

async function tlsOf(values: Context['values']): Promise<EtcdServerTls> {
  const certFile = values['cert-file'] ?? '';
  const keyFile = values['key-file'] ?? '';
  const caFile = values['trusted-ca-file'] ?? '';
  if (certFile === '' || keyFile === '') throw new OptionsError(['https URLs need --cert-file and --key-file']);
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  const isMutual = values['client-cert-auth'] && caFile !== '';
  return { cert, key, ...(isMutual ? { clientCa: await readFile(caFile, 'utf8') } : {}) };
}
