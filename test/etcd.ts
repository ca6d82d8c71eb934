/**
 * A real etcd for tests: on free loopback ports, in a temporary directory, ended by its pid. TEST_ETCD names another
 * version's program; TEST_KINE_DATABASE, such as `postgresql`, runs kine over that database instead.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '#test/free-port.js';

export interface TestEtcd {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  readonly dataDir: string;
  /** Pid of the running process; undefined after `kill`. */
  readonly pid: number | undefined;
  /** Kills it (SIGKILL); the data stays. */
  kill(): Promise<void>;
  /** Restarts it on the same ports and data; resolves when it responds. */
  restart(): Promise<void>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

export interface TestEtcdOptions {
  /** Further command line options: `['--quota-backend-bytes', '16777216']`. */
  readonly args?: readonly string[];
  /** Data of another etcd that is not running; `stop` removes it, too. */
  readonly dataDir?: string;
  /** Serves over TLS and requires client certificates of this authority. All PEM. */
  readonly tls?: { readonly ca: string; readonly certificate: string; readonly privateKey: string };
}

const program = process.env['TEST_ETCD'] ?? '/usr/bin/etcd';
const kineDatabase = process.env['TEST_KINE_DATABASE'] ?? '';
/** Whether kine runs in the place of etcd. */
export const runsKine = kineDatabase !== '';
const startTimeoutMs = 30_000;

/** Address of a member. */
interface Ports {
  readonly client: number;
  readonly peer: number;
  readonly metrics: number;
}

/** Resolves when etcd responds. */
export async function startEtcd(options: TestEtcdOptions = {}): Promise<TestEtcd> {
  if (runsKine) return (await import('#test/kine.js')).startKineAsEtcd(kineDatabase);
  const [ports] = await memberPorts(1);
  return startMember(options, 0, ports === undefined ? [] : [ports]);
}

/** Members of one cluster, each with its own data; resolves when all respond. */
export async function startEtcdCluster(size: number, args: readonly string[] = []): Promise<TestEtcd[]> {
  const all = await memberPorts(size);
  return Promise.all(all.map((_, at) => startMember({ args }, at, all)));
}

async function memberPorts(size: number): Promise<Ports[]> {
  const free = await freePorts(3 * size);
  return Array.from({ length: size }, (_, at) => {
    const [client = 0, peer = 0, metrics = 0] = free.slice(3 * at);
    return { client, peer, metrics };
  });
}

async function startMember(options: TestEtcdOptions, at: number, members: readonly Ports[]): Promise<TestEtcd> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'etcd-test-')));
  const { client = 0, peer: peerPort = 0, metrics = 0 } = members[at] ?? {};
  const endpoint = `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${client}`;
  const health = `http://127.0.0.1:${metrics}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const cluster = members.map((member, i) => `test${i}=http://127.0.0.1:${member.peer}`).join(',');
  const args = [
    ...['--name', `test${at}`, '--data-dir', dataDir, '--log-level', 'error', '--logger', 'zap'],
    ...['--listen-client-urls', endpoint, '--advertise-client-urls', endpoint],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', cluster],
    ...['--listen-metrics-urls', health],
    ...(options.tls === undefined ? [] : await tlsArgs(dataDir, options.tls)),
    ...(options.args ?? []),
  ];
  let child: ChildProcess | undefined;
  /** For tests that end without calling `stop`. */
  const killNow = () => {
    child?.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  };
  process.on('exit', killNow);

  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, 'exit');
    ending.kill(signal);
    await exited;
  };
  const start = async () => {
    const starting = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child = starting;
    let output = '';
    starting.stderr?.on('data', (text: Buffer) => {
      output = (output + text.toString()).slice(-4000);
    });
    await healthy(health, starting, () => output);
  };
  const stop = async () => {
    // Its data is not needed, so a slow shutdown is pointless.
    await end('SIGKILL');
    process.off('exit', killNow);
    await rm(dataDir, { recursive: true, force: true });
  };

  try {
    await start();
  } catch (err) {
    await stop();
    throw err;
  }
  return {
    endpoint,
    dataDir,
    get pid() {
      return child?.pid;
    },
    kill: () => end('SIGKILL'),
    async restart() {
      await end('SIGTERM');
      await start();
    },
    stop,
  };
}

async function tlsArgs(dataDir: string, tls: NonNullable<TestEtcdOptions['tls']>): Promise<string[]> {
  const files = { ca: tls.ca, cert: tls.certificate, key: tls.privateKey };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dataDir, `${name}.pem`), text);
  const file = (name: keyof typeof files) => join(dataDir, `${name}.pem`);
  return [
    '--client-cert-auth',
    '--trusted-ca-file',
    file('ca'),
    '--cert-file',
    file('cert'),
    '--key-file',
    file('key'),
  ];
}

async function healthy(endpoint: string, child: ChildProcess, output: () => string): Promise<void> {
  const giveUpAt = Date.now() + startTimeoutMs;
  while (child.exitCode === null && child.signalCode === null && Date.now() < giveUpAt) {
    try {
      const response = await fetch(`${endpoint}/health`);
      if (response.ok && ((await response.json()) as { health?: string }).health === 'true') return;
    } catch {
      // Not listening yet.
    }
    await sleep(50);
  }
  throw new Error(`etcd did not start: ${output()}`);
}
