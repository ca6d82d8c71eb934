/** A complete API server over HTTPS with its store in memory, for tests of daemons in separate processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { type Clock, realClock as clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { buildApiServer } from '#apiserver/build/build.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { parseOptions } from '#daemon/options/parse.js';
import { generateRsaKey, privateKeyToPem, publicKeyToPem } from '#pki/keys.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Store } from '#storage/store.js';

export interface DaemonTest {
  readonly api: CompleteApiServer;
  readonly port: number;
  /** A directory that is removed after the test. */
  readonly folder: string;
  /** Path of a client config file whose user has the token `root` of `system:masters`. */
  readonly config: string;
  /** The same for the controller manager's own user, with its RBAC rights. */
  readonly managerConfig: string;
  /** That user, without a socket. */
  readonly client: RestClient;
  /** Starts a program of `cmd`, or the module of that specifier; stops it at the end of the test. */
  start(program: string, args: readonly string[]): ChildProcess;
}

export interface ApiOptions {
  readonly dialect: Dialect;
  /** Authorization mode; default RBAC. */
  readonly mode?: string;
  /** Default: in memory. */
  readonly store?: Store;
  /** Clock of the API server; default: the real one. */
  readonly clock?: Clock;
  /** More options of the API server. */
  readonly args?: readonly string[];
  /** Does not wait until the server is ready. */
  readonly isOnlyListening?: boolean;
}

/** Closes everything at the end of the test, the store included. */
export async function startApi(t: Pick<Test, 'teardown'>, options: ApiOptions): Promise<DaemonTest> {
  const { dialect, mode = 'RBAC', store = new MemoryStore({ clock }) } = options;
  const folder = await mkdtemp(join(tmpdir(), 'daemons-'));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const keys = await generateRsaKey();
  const tokens = `root,root,root,"${dialect.groups.masters}"\nmanager,${dialect.users.controllerManager},manager\n`;
  const argv = [
    `--authorization-mode=${mode}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${folder}`,
    '--service-account-issuer=https://test',
    `--service-account-signing-key-file=${await file('sa.key', privateKeyToPem(keys.privateKey))}`,
    `--service-account-key-file=${await file('sa.pub', publicKeyToPem(keys.publicKey))}`,
    '--service-cluster-ip-range=10.96.0.0/24',
    `--token-auth-file=${await file('tokens', tokens)}`,
    ...(options.args ?? []),
  ];
  const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'test' });
  if (parsed.kind !== 'run') throw new TypeError('no options');
  const api = await buildApiServer({
    values: parsed.values,
    dialect,
    clock: options.clock ?? clock,
    log,
    random: Math.random,
    store,
    metrics: createRegistry({ dialect, process }),
    listenOnAnyPort: true,
  });
  const work = api.start(new AbortController().signal);
  const user = { name: 'root', groups: [dialect.groups.masters, dialect.groups.authenticated] };
  const client = new RestClient({ transport: new InProcessTransport({ handler: api.handler, user }), dialect, clock });
  const children: ChildProcess[] = [];
  t.teardown(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map(ended));
    await client.close();
    await api.close();
    await work;
    await store.close();
    await rm(folder, { recursive: true });
  });
  const ready = api.ready();
  ready.catch(() => undefined);
  if (options.isOnlyListening === true) await until('listening', async () => api.address !== undefined);
  else await ready;
  const port = api.address?.port ?? 0;
  const context = { server: `https://127.0.0.1:${port}`, clusterName: 'test', userName: 'test' };
  const ca = await readFile(join(folder, 'apiserver.crt'), 'utf8');
  return {
    api,
    port,
    folder,
    client,
    config: await file('config', formatKubeconfig(singleContext({ ...context, ca, token: 'root' }))),
    managerConfig: await file('manager', formatKubeconfig(singleContext({ ...context, ca, token: 'manager' }))),
    start(program, args) {
      const specifier = program.startsWith('#') ? program : `#cmd/${program}/main.js`;
      const main = fileURLToPath(import.meta.resolve(specifier));
      const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
      children.push(child);
      return child;
    },
  };
}

/** The exit code; null when a signal ended the process. */
export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Polls until the answer is true; errors count as false. */
export async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  let last: unknown;
  for (const deadline = clock.monotonic() + 60_000; clock.monotonic() < deadline; await clock.sleep(50)) {
    try {
      if (await ask()) return;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`never: ${what}`, { cause: last });
}
