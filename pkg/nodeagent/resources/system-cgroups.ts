/**
 * Moves the agent into the cgroup of `--nodeagent-cgroups`, and the root cgroup's processes into that of
 * `--system-cgroups`, as release 1.24 does (cm/container_manager_linux.go): at the start, and then every minute.
 */

import { readFile, readlink } from 'node:fs/promises';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { errorCode } from '#nodeagent/resources/cgroup-files.js';
import type { CgroupTree } from '#nodeagent/resources/cgroup-tree.js';

export interface SystemCgroupsOptions {
  /** These cgroups are plain directories, not systemd's slices. */
  readonly tree: CgroupTree;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absolute path of the agent's own cgroup; empty: it is not moved. */
  readonly agent: string;
  /** Absolute path of the cgroup for the root's processes; empty: they are not moved. */
  readonly system: string;
}

const ensureMs = 60_000;
/** Rounds per move, since processes may start others meanwhile. */
const tries = 11;

export class SystemCgroups {
  readonly #options: SystemCgroupsOptions;
  /** Last logged error per path. */
  readonly #loggedErrors = new Map<string, string>();

  /** Throws for an invalid path. */
  constructor(options: SystemCgroupsOptions) {
    if (options.system === '/') throw new Error('system container cannot be root ("/")');
    this.#options = options;
  }

  /** Works until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.ensure();
      await this.#options.clock.sleep(ensureMs, signal);
    }
  }

  /** Moves misplaced processes. Failures are logged. */
  async ensure(): Promise<void> {
    const { agent, system } = this.#options;
    if (system !== '') await this.#tryFor(system, () => this.#moveRootProcesses(system));
    if (agent !== '') await this.#tryFor(agent, () => this.#moveAgent(agent));
  }

  async #tryFor(path: string, work: () => Promise<void>): Promise<void> {
    const { log } = this.#options;
    try {
      await work();
      this.#loggedErrors.delete(path);
    } catch (error) {
      // Log the same error only once.
      if (this.#loggedErrors.get(path) === messageOf(error)) return;
      this.#loggedErrors.set(path, messageOf(error));
      log.warn({ err: error, path }, 'failed to ensure the state of a system cgroup');
    }
  }

  async #moveAgent(path: string): Promise<void> {
    const { tree, processes } = this.#options;
    const { own } = processes;
    if (!(await processes.isInHostPIDNamespace()))
      throw new Error('the agent runs in its own PID namespace and cannot be moved to another cgroup');
    if (await tree.holds(path, await processes.cgroupsOf(own))) return;
    await tree.enter(path, own);
  }

  /** Skips process 1 and kernel threads. */
  async #moveRootProcesses(path: string): Promise<void> {
    const { tree, processes } = this.#options;
    let failure: unknown;
    for (let triesLeft = tries; triesLeft > 0; triesLeft--) {
      const pids: number[] = [];
      for (const pid of await tree.processesInRoot()) {
        if (pid > 1 && !(await processes.isKernelThread(pid))) pids.push(pid);
      }
      if (pids.length === 0) return;
      for (const pid of pids) {
        try {
          await tree.enter(path, pid);
        } catch (error) {
          failure = new Error(`failed to move PID ${pid} into the system container ${JSON.stringify(path)}`, {
            cause: error,
          });
        }
      }
    }
    if (failure !== undefined) throw failure;
  }
}

/** The machine's processes. */
export interface Processes {
  /** This process's ID. */
  readonly own: number;
  /** True for kernel threads, which have no executable. */
  isKernelThread(pid: number): Promise<boolean>;
  /** The text of `/proc/<pid>/cgroup`: lines of `number:controllers:path`. */
  cgroupsOf(pid: number): Promise<string>;
  /** False if this process has another PID namespace than process 1. */
  isInHostPIDNamespace(): Promise<boolean>;
}

export const machineProcesses: Processes = {
  own: process.pid,
  async isKernelThread(pid) {
    try {
      await readlink(`/proc/${pid}/exe`);
      return false;
    } catch (error) {
      return errorCode(error) === 'ENOENT';
    }
  },
  cgroupsOf: (pid) => readFile(`/proc/${pid}/cgroup`, 'utf8'),
  async isInHostPIDNamespace() {
    const [first, own] = await Promise.all(['1', 'self'].map((pid) => readlink(`/proc/${pid}/ns/pid`)));
    return first === own;
  },
};
