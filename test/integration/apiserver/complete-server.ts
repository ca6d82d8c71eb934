/** A complete API server built from options: with authentication, authorization and its own objects. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { buildApiServer } from '#apiserver/build/build.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { type ClusterPki, ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { silentLogger } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Store } from '#storage/store.js';

export interface CompleteServerOptions {
  readonly dialect: Dialect;
  /** Command-line arguments. */
  readonly argv: readonly string[];
  /** Closed with the server; absent: one in memory. */
  readonly store?: Store;
  readonly metrics?: Registry;
  /** Listen on a free port of 127.0.0.1; absent: no socket. */
  readonly listens?: boolean;
}

/** Resolves when the server is ready; it ends with the test. */
export async function startCompleteServer(
  t: Pick<Test, 'teardown'>,
  { dialect, argv, metrics, listens = false, store = new MemoryStore({ clock }) }: CompleteServerOptions,
): Promise<CompleteApiServer> {
  const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'test' });
  if (parsed.kind !== 'run') throw new Error(`options are for "${parsed.kind}"`);
  const server = await buildApiServer({
    dialect,
    clock,
    log: silentLogger,
    random: Math.random,
    store,
    values: parsed.values,
    listenOnAnyPort: listens,
    ...(metrics === undefined ? {} : { metrics }),
  });
  const stopping = new AbortController();
  const work = server.start(stopping.signal);
  t.teardown(async () => {
    stopping.abort();
    await work;
    await store.close();
  });
  await server.ready();
  return server;
}

export interface ClusterCredentials {
  readonly pki: ClusterPki;
  /** Options for a server that listens on 127.0.0.1 with these credentials and RBAC. */
  readonly argv: readonly string[];
}

/** A cluster's keys and certificates and a token file, in a folder that is removed with the test. */
export async function clusterCredentials(
  t: Pick<Test, 'teardown'>,
  dialect: Dialect,
  tokens: string,
): Promise<ClusterCredentials> {
  const directory = await mkdtemp(join(tmpdir(), 'complete-server-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const pki = await ensureClusterPki(directory, { dialect, names: [], ips: ['10.0.0.1'], now: Date.now() });
  const file = (name: string) => join(directory, name);
  await writeFile(file('tokens.csv'), tokens);
  const argv = [
    ...['--bind-address', '127.0.0.1', '--advertise-address', '192.0.2.9', '--secure-port', '0'],
    ...['--tls-cert-file', file('apiserver.crt'), '--tls-private-key-file', file('apiserver.key')],
    ...['--client-ca-file', file('ca.crt'), '--token-auth-file', file('tokens.csv'), '--authorization-mode', 'RBAC'],
    ...['--service-account-issuer', 'https://api.example', '--service-cluster-ip-range', '10.0.0.0/24'],
    ...['--service-account-signing-key-file', file('sa.key'), '--service-account-key-file', file('sa.pub')],
    ...['--requestheader-client-ca-file', file('front-proxy-ca.crt')],
    ...['--proxy-client-cert-file', file('front-proxy-client.crt')],
    ...['--proxy-client-key-file', file('front-proxy-client.key')],
  ];
  return { pki, argv };
}
