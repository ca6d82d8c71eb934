/**
 * A program that belongs to the cluster: started in a session of its own, restarted when it ends by itself. As long as it
 * runs it keeps its supervisor's process running too.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { diskProblem } from '#cmd/orch/process/disk-space.js';
import { forgetIdentity, identify, readIdentity, stopProcess, writeIdentity } from '#cmd/orch/process/identity.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ChildOptions {
  /** Names the identity file and the log. */
  readonly name: string;
  readonly command: string;
  /** Asked for at each start: what was free at the last one, such as a port, may not be any more. */
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
/** A child that ran this long starts over with the shortest delay. */
const healthyAfterMs = 30_000;

export class Child {
  readonly #options: ChildOptions;
  readonly #identityFile: string;
  readonly #stop = new AbortController();
  #process: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #supervision: Promise<void> | undefined;
  /** Whoever has ended the program so that it starts again. */
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

  /** Starts the program; one left over from an earlier run is ended first. Throws when it cannot be started. */
  async start(): Promise<void> {
    const { clock, graceMs } = this.#options;
    const leftOver = readIdentity(this.#identityFile);
    if (leftOver !== undefined) await stopProcess(leftOver, clock, graceMs ?? 10_000);
    await this.#spawn();
    this.#supervision = this.#supervise();
  }

  /** Ends the program, which starts at once with what `args` says then. Rejects when it cannot be started or was closed. */
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
    const given = await args();
    if (this.#stop.signal.aborted) return;
    mkdirSync(runDir, { recursive: true });
    mkdirSync(dirname(logFile), { recursive: true });
    const output = openSync(logFile, 'a', 0o600);
    try {
      const child = spawn(command, given, {
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
        // Nobody would find it again.
        child.kill('SIGKILL');
        throw error;
      }
    } finally {
      closeSync(output);
    }
  }

  /** True when its end was asked for, and it runs again. */
  async #restarted(): Promise<boolean> {
    const asked = this.#restart;
    if (asked === undefined) return false;
    this.#restart = undefined;
    try {
      await this.#spawn();
      asked.resolve();
      return true;
    } catch (error) {
      asked.reject(error);
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
      log.warn({ program: name, delayMs, ...more }, 'a program of the cluster ended; starting it again');
      await clock.sleep(delayMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.#spawn().catch((error: unknown) => log.error({ err: error, program: name }, 'restart failed'));
    }
  }
}
