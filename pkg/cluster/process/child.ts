/** A program of the cluster, run in its own session and restarted when it exits. It keeps this process alive. */

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { forgetIdentity, identify, readIdentity, stopProcess, writeIdentity } from '#cluster/process/identity.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ChildOptions {
  /** Names the identity file and the log. */
  readonly name: string;
  readonly command: string;
  /** Called at each start: a port that was free at the last start may be in use. */
  readonly args: () => readonly string[] | Promise<readonly string[]>;
  readonly env?: Readonly<Record<string, string>>;
  readonly runDir: string;
  readonly logFile: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time between SIGTERM and SIGKILL; ms. */
  readonly graceMs?: number;
}

const firstRestartMs = 250;
const maxRestartMs = 10_000;
/** A child that ran this long restarts with the shortest delay. */
const healthyAfterMs = 30_000;

export class Child {
  readonly #options: ChildOptions;
  readonly #identityFile: string;
  readonly #stop = new AbortController();
  #process: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #supervision: Promise<void> | undefined;
  /** Settled when a requested restart is done. */
  #restart: Deferred<void> | undefined;

  constructor(options: ChildOptions) {
    this.#options = options;
    this.#identityFile = join(options.runDir, `${options.name}.pid`);
  }

  get name(): string {
    return this.#options.name;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts the program, after stopping one that is left from an earlier run. Rejects when it cannot be started. */
  async start(): Promise<void> {
    const { clock, graceMs } = this.#options;
    const leftOver = readIdentity(this.#identityFile);
    if (leftOver !== undefined) await stopProcess(leftOver, clock, graceMs ?? 10_000);
    await this.#spawn();
    this.#supervision = this.#supervise();
  }

  /** Stops the program and starts it at once with new `args`. Rejects when it cannot be started or was closed. */
  async restart(): Promise<void> {
    this.#restart ??= deferred();
    const started = this.#restart.promise;
    const pid = this.#process?.pid;
    const identity = pid === undefined ? undefined : identify(pid);
    if (identity !== undefined) await stopProcess(identity, this.#options.clock, this.#options.graceMs ?? 10_000);
    await started;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#restart?.reject(new Error(`${this.name} was stopped`));
    const pid = this.#process?.pid;
    const identity = pid === undefined ? undefined : identify(pid);
    if (identity !== undefined) await stopProcess(identity, this.#options.clock, this.#options.graceMs ?? 10_000);
    await this.#supervision;
    forgetIdentity(this.#identityFile);
  }

  async #spawn(): Promise<void> {
    const { command, args, env, logFile, runDir } = this.#options;
    const argv = await args();
    if (this.#stop.signal.aborted) return;
    mkdirSync(runDir, { recursive: true });
    mkdirSync(dirname(logFile), { recursive: true });
    const output = openSync(logFile, 'a', 0o600);
    try {
      const child = spawn(command, argv, {
        detached: true,
        stdio: ['ignore', output, output],
        env: { ...process.env, ...env },
      });
      this.#process = child;
      this.#exited = new Promise((resolve) => child.once('exit', () => resolve()));
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', reject);
      });
      try {
        writeIdentity(this.#identityFile, child.pid ?? 0);
      } catch (error) {
        // Without the file a later run could not find and stop the process.
        child.kill('SIGKILL');
        throw error;
      }
    } finally {
      closeSync(output);
    }
  }

  /** Performs a requested restart. False when none was requested, or when it failed. */
  async #restarted(): Promise<boolean> {
    const request = this.#restart;
    if (request === undefined) return false;
    this.#restart = undefined;
    try {
      await this.#spawn();
      request.resolve();
      return true;
    } catch (error) {
      request.reject(error);
      return false;
    }
  }

  /** Restarts the program with growing delays until `close`. */
  async #supervise(): Promise<void> {
    const { clock, log, name, logFile } = this.#options;
    const backoff = new Backoff({ initialMs: firstRestartMs, maxMs: maxRestartMs });
    while (!this.#stop.signal.aborted) {
      const started = clock.monotonic();
      await this.#exited;
      if (this.#stop.signal.aborted) return;
      if (await this.#restarted()) continue;
      if (clock.monotonic() - started > healthyAfterMs) backoff.reset();
      const delayMs = backoff.nextMs();
      const problem = diskProblem(dirname(logFile));
      const more = problem === undefined ? {} : { problem };
      log.warn({ program: name, delayMs, ...more }, 'program exited; restarting it');
      await clock.sleep(delayMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.#spawn().catch((error: unknown) =>
        log.error({ err: error, program: name }, 'cannot restart the program'),
      );
    }
  }
}

/** With less free space etcd may crash at a write: its journal grows by files of this size. */
const scarceBytes = 64 * 1024 * 1024;

/** The problem of the disk of a directory, with the remedy; undefined when it has free space. */
export function diskProblem(dir: string): string | undefined {
  try {
    const { bavail, bsize, ffree } = statfsSync(dir);
    const free = bavail * bsize;
    if (free >= scarceBytes && ffree > 0) return undefined;
    const left = ffree === 0 ? 'no files' : `${Math.floor(free / 1024 / 1024)} MiB`;
    return `the disk of ${dir} has ${left} left: free some space, and the program restarts by itself`;
  } catch (error) {
    return `cannot read the free space of ${dir}: ${messageOf(error)}`;
  }
}
