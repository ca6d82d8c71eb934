/** Whole clusters for tests, started and stopped by the programs that users run. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { get as httpGet } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from '#apimachinery/clock.js';
import type { DialectName } from '#apimachinery/dialect.js';
import { layoutOf } from '#cluster/config/layout.js';
import { listAddresses, parseHostNetworks } from '#cluster/machine/network.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { claimName, randomPort } from '#cluster/process/ports.js';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
  /** The program is ended after this long; ms. */
  readonly timeoutMs?: number;
}

/**
 * Programs run as users run them: without the hooks that the test runner puts, at the very spawn, into the environment
 * of every child; so env(1) takes them out again and becomes the program.
 */
function plain(command: string, args: readonly string[]): [string, string[]] {
  return ['env', ['-u', 'NODE_OPTIONS', command, ...args]];
}

/** Runs a program to its end. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(...plain(command, args), {
      env: { ...process.env, ...options.env },
      cwd: options.cwd,
      stdio: 'pipe',
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => out.push(part));
    child.stderr.on('data', (part: Buffer) => err.push(part));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    const limit = realClock.setTimer(() => child.kill('SIGKILL'), options.timeoutMs ?? 120_000);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      limit.cancel();
      const stderr = Buffer.concat(err).toString() + (signal === null ? '' : `\n[ended by ${signal}]`);
      resolve({ code: code ?? 128, stdout: Buffer.concat(out).toString(), stderr });
    });
  });
}

export interface ClusterOptions {
  readonly dialect?: DialectName;
  readonly runtime?: 'containerd' | 'simulated';
  readonly nodes?: number;
  readonly store?: 'etcd' | 'memory';
  readonly separate?: boolean;
  readonly args?: readonly string[];
  /** Path of the Node.js that runs it; absent: the project's. */
  readonly node?: string;
}

export interface TestCluster {
  readonly dataDir: string;
  readonly config: string;
  /** Restarts the cluster with the same options; throws when that fails. */
  up(): Promise<RunResult>;
  down(): Promise<RunResult>;
  /** `orchctl` against the cluster. */
  ctl(...args: string[]): Promise<RunResult>;
  /** Any client that reads KUBECONFIG. */
  client(program: string, args: readonly string[], options?: RunOptions): Promise<RunResult>;
  /** Stops it and removes its data; the data stays, and it throws with the program's output, when that fails. */
  destroy(): Promise<void>;
}

/**
 * Beginnings of two ranges of addresses, `10.120.` for services and `10.121.` for pods, that are this process's for as
 * long as it runs: other tests, of this checkout or of another, run clusters on this machine at the same time.
 */
export async function ownRanges(): Promise<readonly [string, string]> {
  for (;;) {
    const second = 100 + 2 * Math.floor(Math.random() * 70);
    const ranges = [`10.${second}.`, `10.${second + 1}.`] as const;
    if (!(await claimName(`orch-test-ranges-${second}`))) continue;
    // The bridge of another or a killed cluster may use the range.
    const hostNetworks = parseHostNetworks(execFileSync('ip', listAddresses, { encoding: 'utf8' }));
    if (!hostNetworks.some(({ address }) => ranges.some((range) => address.startsWith(range)))) return ranges;
  }
}

/** Why services of real containers cannot be tested here; undefined if they can. */
export function whyNoServices(): string | undefined {
  const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
  if (noContainers !== undefined) return `${noContainers}: these need real ones`;
  try {
    execFileSync('nft', ['list', 'tables'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'nft is missing (package nftables), or may not be used';
  }
}

/** The options that give a cluster these ranges. */
export function rangeArguments([services, pods]: readonly [string, string]): string[] {
  return [`--service-cluster-ip-range=${services}0.0/16`, `--cluster-cidr=${pods}0.0/16`];
}

/** A new cluster in a directory of its own, ready. Throws with the program's output when it does not come up. */
export async function startTestCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  // Short: the addresses of unix sockets are limited.
  const dataDir = mkdtempSync(join(tmpdir(), 'oe2e-'));
  const orch = join(root, 'bin', 'orch');
  const config = join(dataDir, 'client.config');
  const port = await randomPort('0.0.0.0', Math.random);
  const upArgs = [
    'up',
    '--detach',
    `--data-dir=${dataDir}`,
    `--dialect=${options.dialect ?? 'orch'}`,
    `--runtime=${options.runtime ?? 'simulated'}`,
    `--nodes=${options.nodes ?? 1}`,
    `--store=${options.store ?? 'etcd'}`,
    `--secure-port=${port}`,
    '--node-ip=127.0.0.1',
    ...(options.separate === true ? ['--separate'] : []),
    ...(options.args ?? []),
  ];
  const runOrch = (...args: string[]): Promise<RunResult> =>
    options.node === undefined
      ? run(orch, args, { timeoutMs: 180_000 })
      : run(options.node, [join(root, 'dist', 'bundle', 'orch', 'main.js'), ...args], { timeoutMs: 180_000 });
  const succeeds = async (...args: string[]): Promise<RunResult> => {
    const result = await runOrch(...args);
    if (result.code === 0) return result;
    const { code, stdout, stderr } = result;
    throw new Error(`orch ${args.join(' ')} ended with ${code}\n${stdout}\n${stderr}\n${await logTail(dataDir)}`);
  };
  const cluster: TestCluster = {
    dataDir,
    config,
    up: () => succeeds(...upArgs),
    down: () => runOrch('down', `--data-dir=${dataDir}`),
    ctl: (...args) => run(join(root, 'bin', 'orchctl'), args, { env: { ORCHCONFIG: config } }),
    client: (program, args, more = {}) =>
      run(program, args, { ...more, env: { KUBECONFIG: config, ORCHCONFIG: config, ...more.env } }),
    async destroy() {
      // Without settings no cluster was created, and `down` refuses an unknown directory.
      if (existsSync(layoutOf(dataDir).settings)) await succeeds('down', '--delete', `--data-dir=${dataDir}`);
      else rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
  try {
    await cluster.up();
  } catch (error) {
    await cluster.destroy().catch((left: unknown) => {
      throw new AggregateError([error, left], `${String(error)}\nand then\n${String(left)}`);
    });
    throw error;
  }
  return cluster;
}

async function logTail(dataDir: string): Promise<string> {
  const logs = ['etcd.log', 'orch.log'].map((name) => join(dataDir, 'logs', name));
  return (await run('tail', ['-n', '30', ...logs])).stdout;
}

/** Clients installed for the tests (hack/install-clients.sh). */
export const tools = join(root, '.tools');

/**
 * Every kubectl on the PATH, the versioned ones (`kubectl.1.31`) there or beside it, and the old one of .tools: the oldest
 * first.
 */
export async function kubectls(): Promise<string[]> {
  const paths = new Map<string, string>();
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), join(tools, 'bin')]) {
    for (const name of await readdir(folder).catch(() => [])) {
      if (!/^kubectl(\.1\.\d+)?$/.test(name)) continue;
      const path = join(folder, name);
      if (!paths.has(name)) paths.set(name, path);
      const real = dirname(await realpath(path).catch(() => path));
      for (const beside of await readdir(real).catch(() => [])) {
        if (/^kubectl\.1\.\d+$/.test(beside) && !paths.has(beside)) paths.set(beside, join(real, beside));
      }
    }
  }
  // Plain `kubectl` may be a wrapper that selects one of the others.
  if (paths.size > 1) paths.delete('kubectl');
  return [...paths.keys()].sort().map((name) => paths.get(name) as string);
}

/** The oldest and the newest. */
export function extremesOf<T>(sorted: readonly T[]): Set<T> {
  return new Set([...sorted.slice(0, 1), ...sorted.slice(-1)]);
}

/**
 * Of programs (the oldest first) those to try with a dialect: between the two dialects every one has its turn, and the
 * oldest and the newest are tried with both.
 */
export function kubectlsFor<T>(dialect: DialectName, sorted: readonly T[]): T[] {
  const extremes = extremesOf(sorted);
  const turn = dialect === 'orch' ? 1 : 0;
  return sorted.filter((program, index) => extremes.has(program) || index % 2 === turn);
}

/** The minor version of a kubectl: 32 for 1.32. */
export async function minorVersion(kubectl: string): Promise<number> {
  const { stdout } = await run(kubectl, ['version', '--client', '-o', 'json']);
  const version = JSON.parse(stdout) as { clientVersion: { minor: string } };
  return Number.parseInt(version.clientVersion.minor, 10);
}

/** Polls `check` until its result is truthy; on timeout throws with the last failure. */
export async function eventually<T>(
  what: string,
  check: () => Promise<T | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = realClock.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const result = await check();
      if (result !== undefined && result !== false) return result;
    } catch (error) {
      last = error;
    }
    if (realClock.now() > deadline) throw new Error(`timed out waiting until ${what}`, { cause: last });
    await realClock.sleep(100);
  }
}

/** A program that runs in the background while the test reads its output; `stop` ends it. */
export class Running {
  readonly #child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly exited: Promise<number>;

  constructor(command: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.#child = spawn(...plain(command, args), { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stdout?.on('data', (part: Buffer) => {
      this.stdout += part.toString();
    });
    this.#child.stderr?.on('data', (part: Buffer) => {
      this.stderr += part.toString();
    });
    this.exited = new Promise((resolve) => this.#child.once('close', (code) => resolve(code ?? 128)));
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  end(): void {
    this.#child.stdin?.end();
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.exited;
  }
}

/** The body of a GET over plain HTTP, regardless of the status. Each call opens a new connection. */
export function httpBody(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    httpGet(url, { agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => resolve(Buffer.concat(parts).toString()));
    }).on('error', reject);
  });
}
