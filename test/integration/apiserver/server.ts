/** An API server on an in-memory store that allows everything, for tests that need a real one. */
import { randomBytes, randomUUID } from 'node:crypto';
import { request } from 'node:https';
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { ApiServer, type ApiServerDependencies, type ApiServerOptions } from '#apiserver/build/api-server.js';
import type { EndpointParts } from '#apiserver/build/endpoints.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { RequestAccess } from '#apiserver/build/pipeline.js';
import type { WriteParts } from '#apiserver/build/registry.js';
import type { ResourceParts } from '#apiserver/build/resources.js';
import { ResourceStorages } from '#apiserver/resources/storages.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { createSelfSigned } from '#pki/self-signed.js';
import type { Decode } from '#storage/cache/cache-entry.js';
import { parseEncryptionConfig } from '#storage/encryption/encryption-config.js';
import { resourceEncryption } from '#storage/encryption/resource-encryption.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { createStorageMetrics } from '#storage/metrics.js';
import type { Store } from '#storage/store.js';
import { frozenDecoder } from '#test/integration/apiserver/frozen.js';
import type { ServerParts } from '#test/integration/apiserver/real-plugins.js';

/** The dependencies of a server's parts, all in one, for tests that replace a few. */
export type FlatDependencies = ServerEnvironment &
  RequestAccess &
  ResourceParts &
  WriteParts &
  EndpointParts &
  Pick<ApiServerDependencies, 'beforeListening' | 'release'>;

export interface StartOptions {
  readonly dialect?: Dialect;
  readonly options?: ApiServerOptions;
  readonly dependencies?: Partial<FlatDependencies>;
  /** Shared with other servers; absent: an own store. */
  readonly store?: Store;
  /** Text of an encryption config; absent: values are stored unencrypted. */
  readonly encryption?: string;
  /** Feature gates that differ from the release's defaults. */
  readonly gates?: Readonly<Record<string, boolean>>;
  /** Also listen on a port of the loopback interface. */
  readonly https?: boolean;
  /** Objects from caches are mutable, as outside of tests; for measurements. */
  readonly unfrozen?: boolean;
  /** Decodes the bytes of caches; absent: the default. */
  readonly decode?: Decode;
  /** Dependencies made from the server's other parts. */
  readonly dependenciesOf?: (parts: ServerParts) => Partial<FlatDependencies> | Promise<Partial<FlatDependencies>>;
}

/** Frequent enough to detect a difference in a short test. */
const selfCheckPeriodMs = 1000;

/**
 * Starts a server and closes it with the test, which fails if the server's caches differ from the store. By default objects
 * from caches are frozen: writing into them fails.
 */
export async function startServer(t: Test, start: StartOptions = {}): Promise<ApiServer> {
  const { server, stop } = await runServer(start);
  t.teardown(stop);
  return server;
}

export async function runServer(start: StartOptions = {}): Promise<{ server: ApiServer; stop: () => Promise<void> }> {
  const { dialect = kubernetesDialect } = start;
  const certificate = await createSelfSigned({
    commonName: 'test',
    names: ['localhost'],
    ips: ['127.0.0.1'],
    now: realClock.now(),
  });
  const store = start.store ?? new MemoryStore({ clock: realClock });
  const turns = new TurnQueue({ clock: realClock, defer: setImmediate });
  const metrics = new Registry();
  const storageMetrics = createStorageMetrics(metrics);
  const rules = start.encryption === undefined ? [] : parseEncryptionConfig(start.encryption, dialect);
  const reserved = dialect.encryptedPrefix;
  const storages = new ResourceStorages({
    dialect,
    ...(start.unfrozen === true ? {} : { decode: start.decode ?? frozenDecoder() }),
    store,
    clock: realClock,
    turns,
    random: Math.random,
    log: silentLogger,
    metrics: storageMetrics,
    selfCheckPeriodMs,
    ...(start.dependencies?.gate === undefined ? {} : { gate: start.dependencies.gate }),
    transformers: resourceEncryption(rules, {
      reserved,
      random: randomBytes,
      clock: realClock,
      metrics: storageMetrics,
      openService: ({ name }) => {
        throw new TypeError(`no service ${name}`);
      },
    }).transformers,
  });
  const listen = { host: '127.0.0.1', port: 0, tls: { cert: certificate.certificate, key: certificate.privateKey } };
  const flat: FlatDependencies = {
    dialect,
    storages,
    clock: realClock,
    turns,
    log: silentLogger,
    metrics,
    random: Math.random,
    newUID: randomUUID,
    authenticator: { authenticate: async () => ({ name: 'admin', groups: [dialect.groups.masters] }) },
    authorizer: { mode: 'AlwaysAllow', authorize: async () => ({ decision: 'allow', reason: '' }) },
    ...(start.gates === undefined ? {} : { gate: gateOf(start.gates) }),
    webhooks: { post: () => Promise.reject(new Error('this server asks no webhooks')), close: () => undefined },
    ...start.dependencies,
    ...(await start.dependenciesOf?.({ dialect, storages, store, turns, metrics })),
  };
  const server = new ApiServer(
    { shutdownGraceMs: 1000, ...(start.https === true ? { listen } : {}), ...start.options },
    { environment: flat, access: flat, resources: flat, writes: flat, endpoints: flat, ...flat },
  );
  const work = server.start(new AbortController().signal);
  await server.ready();
  const stop = async () => {
    // Whatever the test, the caches must match the store.
    const differing = await storages.selfCheck();
    await server.close();
    await work;
    if (start.store === undefined) await store.close();
    const before = (await storageMetrics.digestMismatches.get()).values.filter(({ value }) => value > 0);
    const all = [...differing, ...before.map(({ labels }) => labels.resource)];
    if (all.length > 0) throw new Error(`caches differed from the store: ${all.join(', ')}`);
  };
  return { server, stop };
}

function gateOf(gates: Readonly<Record<string, boolean>>): (name: string) => boolean {
  const features = new FeatureGates(gates);
  return (name) => features.enabled(name as FeatureGateName);
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly json: any;
}

export interface Call {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Sends one request through the handler, without a socket. */
export async function call(
  server: Pick<ApiServer, 'handler'>,
  method: string,
  url: string,
  { headers = {}, body }: Call = {},
): Promise<Answer> {
  const response = await server.handler({
    method,
    url,
    headers: {
      ...(body === undefined || Buffer.isBuffer(body) ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body:
      body === undefined
        ? Buffer.alloc(0)
        : Buffer.isBuffer(body)
          ? body
          : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
  });
  const parts: Buffer[] = [];
  if (Buffer.isBuffer(response.body)) parts.push(response.body);
  else if (response.body !== undefined) for await (const part of response.body) parts.push(part);
  return answer(response.status, response.headers, Buffer.concat(parts).toString());
}

function answer(status: number, headers: Readonly<Record<string, string | undefined>>, text: string): Answer {
  const isJSON = headers['content-type']?.startsWith('application/json') === true;
  let parsed: { readonly value: unknown } | undefined;
  return {
    status,
    headers,
    text,
    // Parsed on demand: many responses are large, and few are read.
    get json() {
      parsed ??= { value: isJSON ? parseMaybe(text) : undefined };
      return parsed.value;
    },
  };
}

function parseMaybe(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A stream of several documents.
    return undefined;
  }
}

/** Sends one request over HTTPS (HTTP/1.1). */
export function callHttps(
  server: ApiServer,
  method: string,
  path: string,
  { headers = {}, body }: Call = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const port = server.address?.port;
    const outgoing = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: { 'content-type': 'application/json', ...headers },
      rejectUnauthorized: false,
      agent: false,
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const flat = Object.fromEntries(
          Object.entries(incoming.headers).map(([k, v]) => [k, Array.isArray(v) ? v.join(', ') : v]),
        );
        resolve(answer(incoming.statusCode ?? 0, flat, Buffer.concat(parts).toString()));
      });
    });
    outgoing.end(
      body === undefined ? undefined : typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    );
  });
}
