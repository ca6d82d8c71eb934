/** The compared servers, each with a process and an etcd of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { realClock } from '#apimachinery/clock.js';
import { daemonEnvironment, daemonNodeFlags } from '#daemon/memory/node-flags.js';
import { Connections } from '#test/bench/access/connections.js';
import { cpuMs } from '#test/bench/report.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';

export interface RunningServer {
  readonly name: 'bare' | 'orch' | 'peer';
  readonly pid: number;
  /** HTTPS address. */
  readonly url: string;
  readonly etcd: TestEtcd;
  readonly http1: Connections;
  readonly http2: Connections;
  /** Key of the pod `default/NAME` in its etcd. */
  readonly podKey: (name: string) => string;
  /** Stops the process, not its etcd. */
  stop(): Promise<void>;
}

/** An API server that can be restarted with the same etcd and files. */
export interface ApiPeer {
  readonly name: 'orch' | 'peer';
  /** Resolves once `/readyz` succeeds, with the wall and CPU time until then. */
  start(): Promise<{ readonly server: RunningServer; readonly startMs: number; readonly cpuMs: number }>;
  /** Path of its certificate. */
  readonly directory: string;
  destroy(): Promise<void>;
}

const token = 'secret';
const module = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const readyPollMs = 5;
const startTimeoutMs = 120_000;

/** The end of a child's log, for error messages. */
function follow(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-8000);
  });
  return () => text;
}

/** Ends the process together with this one, after errors and interrupts, too. The result cancels that. */
function endsWithThis(child: ChildProcess): () => void {
  const kill = () => void child.kill('SIGKILL');
  process.on('exit', kill);
  return () => process.off('exit', kill);
}

/** An interrupt ends a process without exit events, unless it has a listener. */
function exitOnSignals(): void {
  // Each server and each etcd adds a listener.
  process.setMaxListeners(Math.max(process.getMaxListeners(), 40));
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    if (process.listenerCount(signal) === 0) process.once(signal, () => process.exit(code));
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** `program` absent: this project's server. `args`: further options. */
export async function apiPeer(
  program: string | undefined,
  nodeArgs: readonly string[] = [],
  args: readonly string[] = [],
): Promise<ApiPeer> {
  exitOnSignals();
  const etcd = await startEtcd({ args: ['--quota-backend-bytes', String(8 * 2 ** 30)] });
  const directory = await mkdtemp(join(tmpdir(), 'bench-access-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  process.on('exit', remove);
  const file = (name: string) => join(directory, name);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(file('tokens.csv'), `${token},admin,1,"system:masters"\n`);
  await writeFile(file('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  await writeFile(file('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const port = await freePort();
  const options = [
    ...['--etcd-servers', etcd.endpoint, '--bind-address', '127.0.0.1', '--secure-port', String(port)],
    ...['--cert-dir', directory, '--token-auth-file', file('tokens.csv'), '--authorization-mode', 'Node,RBAC'],
    ...['--service-account-issuer', 'https://127.0.0.1', '--service-account-signing-key-file', file('sa.key')],
    ...['--service-account-key-file', file('sa.pub'), '--service-cluster-ip-range', '10.0.0.0/24'],
    ...args,
  ];
  const orch = [
    ...daemonNodeFlags('orch-apiserver'),
    ...nodeArgs,
    module('bundle/orch-apiserver/main.js'),
    '--dialect',
    'kubernetes',
    ...options,
  ];
  const name = program === undefined ? 'orch' : 'peer';
  const start = async () => {
    const started = realClock.monotonic();
    const child = spawn(program ?? process.execPath, program === undefined ? orch : options, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...(program === undefined ? daemonEnvironment('orch-apiserver') : {}) },
    });
    const ended = endsWithThis(child);
    const log = follow(child);
    const headers = { authorization: `Bearer ${token}` };
    const http1 = new Connections({ port, headers, http2: false });
    for (;;) {
      if (child.exitCode !== null || realClock.monotonic() - started > startTimeoutMs) {
        child.kill('SIGKILL');
        throw new Error(log());
      }
      const status = await http1.request('GET', '/readyz').then(
        (answer) => answer.status,
        () => 0,
      );
      if (status === 200) break;
      await realClock.sleep(readyPollMs);
    }
    const startMs = realClock.monotonic() - started;
    const startCpuMs = cpuMs(child.pid ?? 0);
    const http2 = new Connections({ port, headers, http2: true });
    const stop = async () => {
      await Promise.all([http1.close(), http2.close()]);
      await end(child);
      ended();
    };
    const podKey = (pod: string) => `/registry/pods/default/${pod}`;
    return {
      startMs,
      cpuMs: startCpuMs,
      server: {
        name,
        pid: child.pid ?? 0,
        url: `https://127.0.0.1:${port}`,
        etcd,
        http1,
        http2,
        podKey,
        stop,
      } as const,
    };
  };
  const destroy = async () => {
    await etcd.stop();
    process.off('exit', remove);
    await rm(directory, { recursive: true, force: true });
  };
  return { name, start, directory, destroy };
}

/** Uses the self-signed certificate of the API server in `directory`. */
export async function startBare(directory: string): Promise<RunningServer> {
  const etcd = await startEtcd();
  const files = [join(directory, 'apiserver.crt'), join(directory, 'apiserver.key')];
  await Promise.all(files.map((path) => readFile(path)));
  const child = spawn(process.execPath, [module('test/bench/peers/bare-server.js'), etcd.endpoint, ...files], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = endsWithThis(child);
  const log = follow(child);
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    once(child, 'exit').then(() => {
      throw new Error(log());
    }),
  ]);
  const ports = JSON.parse(line) as { http1: number; http2: number };
  const http1 = new Connections({ port: ports.http1, headers: {}, http2: false });
  const http2 = new Connections({ port: ports.http2, headers: {}, http2: true });
  const stop = async () => {
    await Promise.all([http1.close(), http2.close()]);
    await end(child);
    ended();
    await etcd.stop();
  };
  const url = `https://127.0.0.1:${ports.http1}`;
  return { name: 'bare', pid: child.pid ?? 0, url, etcd, http1, http2, podKey: (pod) => `/bare/watched/${pod}`, stop };
}

const servingPollMs = 100;

/**
 * Resolves once all workers serve. Connections stay with the worker that accepted them, so none must be opened before.
 */
export async function allServe(server: RunningServer, workers: number): Promise<void> {
  const serving = async () => {
    const { body } = await server.http1.request('GET', '/metrics');
    return body.toString().includes(`\napiserver_workers ${workers}\n`);
  };
  if (workers > 1) while (!(await serving())) await realClock.sleep(servingPollMs);
}
