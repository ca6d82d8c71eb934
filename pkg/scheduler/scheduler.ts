/** The scheduler as a daemon: one scheduling loop after another, each as long as this process leads. */
import { deferred } from '#apimachinery/deferred.js';
import type { Daemon } from '#daemon/daemon.js';
import { SchedulingLoop, type SchedulingLoopOptions } from '#scheduler/scheduling-loop.js';

/** Lets work run only while this process leads. */
export interface Leadership {
  /**
   * Runs `work` whenever this process leads; the work's signal aborts when it no longer does or when `signal` aborts.
   * Resolves after `signal` aborted and the work ended; rejects when the work did.
   */
  lead(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface SchedulerOptions extends SchedulingLoopOptions {
  /** Absent: leads always. */
  leadership?: Leadership;
}

export class Scheduler implements Daemon {
  readonly name: string;
  readonly #options: SchedulerOptions;
  readonly #stop = new AbortController();
  readonly #ready = deferred();
  #running: Promise<void> | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.name = options.dialect.components.scheduler;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  start(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal]);
    const { leadership } = this.#options;
    const work = (leading: AbortSignal) => new SchedulingLoop(this.#options).run(leading, () => this.#ready.resolve());
    // A scheduler that stands by is ready: nothing but the other one's end is missing.
    if (leadership !== undefined) this.#ready.resolve();
    this.#running = (leadership === undefined ? work(stop) : leadership.lead(work, stop)).catch((error: unknown) => {
      this.#ready.reject(error);
      throw error;
    });
    return this.#running;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#ready.reject(new Error(`${this.name} stopped`));
    // Why it failed is told to whoever started it.
    await this.#running?.catch(() => undefined);
  }
}
