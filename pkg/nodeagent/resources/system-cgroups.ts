/**
 * Puts the agent into the cgroup of `--nodeagent-cgroups`, and the processes that are in none into that of
 * `--system-cgroups`, as release 1.24 does (cm/container_manager_linux.go): at the start, and again every minute.
 */

import { readFile, readlink } from 'node:fs/promises';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { errorCode } from '#nodeagent/resources/cgroup-files.js';
import type { CgroupTree } from '#nodeagent/resources/cgroup-tree.js';

export interface SystemCgroupsOptions {
  /** Of directories: these cgroups are none of systemd's. */
  readonly tree: CgroupTree;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absolute path of the agent's own cgroup; empty: it stays where it is. */
  readonly agent: string;
  /** Absolute path of the cgroup of all that is in none; empty: they stay there. */
  readonly system: string;
}

const ensureMs = 60_000;
/** Processes that start others while they are moved are looked at again, so often. */
const tries = 11;

export class SystemCgroups {
  readonly #options: SystemCgroupsOptions;
  /** What was last told of each. */
  readonly #told = new Map<string, string>();

  /** Throws for a path that cannot be. */
  constructor(options: SystemCgroupsOptions) {
    if (options.system === '/') throw new Error('system container cannot be root ("/")');
    this.#options = options;
  }

  /** Until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.ensure();
      await this.#options.clock.sleep(ensureMs, signal);
    }
  }

  /** Moves what is not where it should be. What cannot be moved is told in the log. */
  async ensure(): Promise<void> {
    const { agent, system } = this.#options;
    if (system !== '') await this.#tryFor(system, () => this.#moveUnbound(system));
    if (agent !== '') await this.#tryFor(agent, () => this.#moveAgent(agent));
  }

  async #tryFor(path: string, work: () => Promise<void>): Promise<void> {
    const { log } = this.#options;
    try {
      await work();
      this.#told.delete(path);
    } catch (error) {
      // The same every minute is said once.
      if (this.#told.get(path) === messageOf(error)) return;
      this.#told.set(path, messageOf(error));
      log.warn({ err: error, path }, 'Failed to ensure state of a cgroup of the system');
    }
  }

  async #moveAgent(path: string): Promise<void> {
    const { tree, processes } = this.#options;
    const { own } = processes;
    if (!(await processes.seesMachine())) throw new Error('the agent runs in a container, and is not moved out of it');
    if (await tree.holds(path, await processes.cgroupsOf(own))) return;
    await tree.enter(path, own);
  }

  /** All but process 1 and the kernel's threads. */
  async #moveUnbound(path: string): Promise<void> {
    const { tree, processes } = this.#options;
    let failure: unknown;
    for (let left = tries; left > 0; left--) {
      const unbound: number[] = [];
      for (const pid of await tree.unbound()) {
        if (pid > 1 && !(await processes.isKernels(pid))) unbound.push(pid);
      }
      if (unbound.length === 0) return;
      for (const pid of unbound) {
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
  isKernels(pid: number): Promise<boolean>;
  /** The text of `/proc/<pid>/cgroup`: lines of `number:controllers:path`. */
  cgroupsOf(pid: number): Promise<string>;
  /** False where this process has another PID namespace than process 1. */
  seesMachine(): Promise<boolean>;
}

export const machineProcesses: Processes = {
  own: process.pid,
  async isKernels(pid) {
    try {
      await readlink(`/proc/${pid}/exe`);
      return false;
    } catch (error) {
      return errorCode(error) === 'ENOENT';
    }
  },
  cgroupsOf: (pid) => readFile(`/proc/${pid}/cgroup`, 'utf8'),
  async seesMachine() {
    const [first, own] = await Promise.all(['1', 'self'].map((pid) => readlink(`/proc/${pid}/ns/pid`)));
    return first === own;
  },
};
