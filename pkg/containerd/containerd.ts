/** Starts and stops a containerd whose files, socket and network belong to a data directory. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type CgroupDriver, makeCgroupRoot } from '#containerd/cgroup-root.js';
import { cniConfig, cniConfigFile, cniTemplateFile, containerdConfig } from '#containerd/config.js';
import { lastPodCIDR } from '#containerd/pod-cidr.js';
import { isRuntimeReady } from '#containerd/readiness.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { findCNIPlugins, findProgram, oomScoreAdjRestricted } from '#nodeagent/node/prerequisites.js';
import { writeFileAtomic } from '#pki/file-store.js';

export interface ContainerdOptions {
  /** Absolute; created if missing. Each containerd needs its own directory, bridge and subnet. */
  readonly dir: string;
  /** Pod CIDR of this node; absent: the node agent sends it later, and until then there is no network. */
  readonly podCIDR?: string;
  /** At most 15 characters; default derived from `dir`. */
  readonly bridge?: string;
  /** Reference of the pause image, loaded separately. */
  readonly sandboxImage: string;
  /** What creates the cgroups of pods; default `cgroupfs`. It must be the node agent's. */
  readonly cgroupDriver?: CgroupDriver;
  /** The process outlives its parent. */
  readonly detached?: boolean;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** Default 30 s. */
  readonly startTimeoutMs?: number;
}

const defaultStartTimeoutMs = 30_000;

export interface Containerd {
  /** Value of `--container-runtime-endpoint`. */
  readonly endpoint: string;
  readonly socket: string;
  readonly pid: number;
  readonly bridge: string;
  /** Stops containerd; its sandboxes and containers keep running. Resolves when the process has exited. */
  stop(): Promise<void>;
}

export interface ContainerdPaths {
  readonly socket: string;
  readonly stateDir: string;
  readonly pidFile: string;
  readonly logFile: string;
  readonly bridge: string;
  /** Value of the node agent's `--cgroup-root`. */
  readonly cgroupRoot: string;
}

/** Paths and names of a data directory's containerd. */
export function containerdPaths(dir: string, bridge?: string): ContainerdPaths {
  const digest = createHash('sha256').update(dir).digest('hex').slice(0, 8);
  // Paths of unix sockets are limited to 107 bytes, and the shims' sockets lie deep below the state directory.
  const stateDir = dir.length <= 40 ? join(dir, 'state') : `/run/containerd-${digest}`;
  return {
    socket: dir.length <= 80 ? join(dir, 'containerd.sock') : join(stateDir, 'containerd.sock'),
    stateDir,
    pidFile: join(dir, 'containerd.pid'),
    logFile: join(dir, 'containerd.log'),
    bridge: bridge ?? `cni${digest}`,
    cgroupRoot: `/node-${digest}`,
  };
}

/** True while the process exists; a zombie does not count. */
async function processAlive(pid: number): Promise<boolean> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return !/^\d+ \(.*\) [ZX] /s.test(stat);
  } catch {
    return false;
  }
}

async function isContainerd(pid: number, dir: string): Promise<boolean> {
  try {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes(join(dir, 'config.toml')) && (await processAlive(pid));
  } catch {
    return false;
  }
}

/** Pid of the directory's running containerd; undefined when none is running. */
export async function runningContainerd(dir: string): Promise<number | undefined> {
  let text: string;
  try {
    text = await readFile(containerdPaths(dir).pidFile, 'utf8');
  } catch {
    return undefined;
  }
  const pid = Number(text.trim());
  return Number.isInteger(pid) && pid > 1 && (await isContainerd(pid, dir)) ? pid : undefined;
}

function socketAnswers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function writeConfiguration(options: ContainerdOptions, paths: ContainerdPaths): Promise<void> {
  const cniBinDir = await findCNIPlugins();
  if (cniBinDir === undefined) throw new Error('no CNI plugins found; install package containernetworking-plugins');
  const { dir } = options;
  for (const path of [dir, join(dir, 'root'), join(dir, 'cni'), paths.stateDir]) {
    await mkdir(path, { recursive: true, mode: 0o711 });
  }
  const config = containerdConfig({
    dir,
    socket: paths.socket,
    stateDir: paths.stateDir,
    sandboxImage: options.sandboxImage,
    cniBinDir,
    restrictOOMScoreAdj: await oomScoreAdjRestricted(),
    systemdCgroup: options.cgroupDriver === 'systemd',
  });
  await writeFileAtomic(join(dir, 'config.toml'), config, 0o644);
  const network = { name: paths.bridge, bridge: paths.bridge, ipamDir: join(dir, 'ipam') };
  await writeFileAtomic(join(dir, cniTemplateFile), cniConfig(network), 0o600);
  // A file of older releases, which would take precedence.
  await rm(join(dir, 'cni', '10-bridge.conflist'), { force: true });
  const { podCIDR: subnet } = options;
  if (subnet !== undefined) await writeFileAtomic(join(dir, cniConfigFile), cniConfig({ ...network, subnet }), 0o600);
}

/** Starts the process and writes its pid file. Its output goes to a file, so that it can outlive its parent. */
async function launch(options: Pick<ContainerdOptions, 'dir' | 'detached'>, paths: ContainerdPaths): Promise<number> {
  const program = await findProgram('containerd');
  if (program === undefined) throw new Error('containerd is not installed; install package containerd');
  const log = await open(paths.logFile, 'a');
  try {
    const child = spawn(program, ['--config', join(options.dir, 'config.toml')], {
      detached: options.detached ?? false,
      stdio: ['ignore', log.fd, log.fd],
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', () => resolve());
      child.once('error', reject);
    });
    child.unref();
    if (child.pid === undefined) throw new Error('containerd did not start');
    try {
      await writeFileAtomic(paths.pidFile, `${child.pid}\n`, 0o644);
    } catch (error) {
      // Without the file a later run could not find and stop the process.
      child.kill('SIGKILL');
      throw error;
    }
    return child.pid;
  } finally {
    await log.close();
  }
}

/**
 * Starts the containerd of `dir` unless it is running, and resolves when its CRI answers. Rejects with the end of its log
 * after the time limit.
 */
export async function startContainerd(options: ContainerdOptions): Promise<Containerd> {
  const clock = options.clock ?? realClock;
  const paths = containerdPaths(options.dir, options.bridge);
  const start = async () => {
    await writeConfiguration(options, paths);
    await makeCgroupRoot(paths.cgroupRoot, clock, options.cgroupDriver ?? 'cgroupfs');
    await rm(paths.socket, { force: true });
    return launch(options, paths);
  };
  const running = await runningContainerd(options.dir);
  let pid = running ?? (await start());
  const deadline = clock.monotonic() + (options.startTimeoutMs ?? defaultStartTimeoutMs);
  const stop = () => stopContainerd(options.dir, clock);
  try {
    const network = (await lastPodCIDR(options.dir)) !== undefined;
    const wait = { clock, deadline, signal: options.signal, network };
    let isReady = await becomesReady(paths, pid, wait);
    if (!isReady && running !== undefined && !(await processAlive(running))) {
      // The running process was exiting.
      pid = await start();
      isReady = await becomesReady(paths, pid, wait);
    }
    if (!isReady) throw await notReady(paths);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint: `unix://${paths.socket}`, socket: paths.socket, pid, bridge: paths.bridge, stop };
}

/** Like `startContainerd`, but with the existing configuration: for stopping the containers of `dir`. */
export async function resumeContainerd(dir: string, clock: Clock = realClock): Promise<void> {
  if ((await runningContainerd(dir)) !== undefined) return;
  const paths = containerdPaths(dir);
  await rm(paths.socket, { force: true });
  const pid = await launch({ dir, detached: true }, paths);
  const deadline = clock.monotonic() + defaultStartTimeoutMs;
  const network = (await lastPodCIDR(dir)) !== undefined;
  if (!(await becomesReady(paths, pid, { clock, deadline, signal: undefined, network }))) throw await notReady(paths);
}

/** False when the process has exited, or after the deadline. */
async function becomesReady(
  paths: ContainerdPaths,
  pid: number,
  wait: { clock: Clock; deadline: number; signal: AbortSignal | undefined; network: boolean },
): Promise<boolean> {
  for (;;) {
    wait.signal?.throwIfAborted();
    if ((await socketAnswers(paths.socket)) && (await criAnswers(paths.socket, wait))) return true;
    if (!(await processAlive(pid)) || wait.clock.monotonic() > wait.deadline) return false;
    await wait.clock.sleep(50, wait.signal);
  }
}

async function notReady({ logFile }: ContainerdPaths): Promise<Error> {
  const log = await readFile(logFile, 'utf8').catch(() => '');
  return new Error(`containerd did not become ready: ${log.trim().split('\n').slice(-5).join('\n')}`);
}

async function criAnswers(socket: string, { clock, network }: { clock: Clock; network: boolean }): Promise<boolean> {
  const cri = new GrpcCRI({ endpoint: socket, clock, timeoutMs: 5000 });
  try {
    // The network becomes ready after the CNI configuration has been read.
    return isRuntimeReady(await cri.status(), { network });
  } catch {
    return false;
  } finally {
    await cri.close();
  }
}

/** Stops the containerd of a data directory, if it is running: SIGTERM, after ten seconds SIGKILL. */
export async function stopContainerd(dir: string, clock: Clock = realClock): Promise<void> {
  const pid = await runningContainerd(dir);
  if (pid !== undefined) {
    process.kill(pid, 'SIGTERM');
    const deadline = clock.monotonic() + 10_000;
    while (await isContainerd(pid, dir)) {
      if (clock.monotonic() > deadline) process.kill(pid, 'SIGKILL');
      await clock.sleep(20);
    }
  }
  await rm(containerdPaths(dir).pidFile, { force: true });
}
