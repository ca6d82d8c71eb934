/** A daemon that runs its work while it leads, and starts the work afresh in each term. */
import { deferred } from '#apimachinery/async/deferred.js';
import type { Daemon } from '#daemon/daemon.js';

export interface Leadership {
  /** True when this process leads from the start: the daemon is then ready only when its work is ready. */
  readonly leadsAtOnce?: boolean;
  /**
   * Runs `work` whenever this process leads. The work's signal aborts when the lease is lost; the process then
   * becomes a candidate again. Resolves after `signal` aborts and the work ends; rejects when the work rejects.
   */
  lead(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface LeaderLoopOptions {
  readonly name: string;
  /** Without it, the process always leads. */
  readonly leadership?: Leadership | undefined;
  /**
   * The work of one term, with its own caches and queues, until `signal` aborts. Calls `synced` when its caches are
   * filled. A rejection ends the daemon, except after `signal` aborted.
   */
  readonly run: (signal: AbortSignal, synced: () => void) => Promise<void>;
}

export class LeaderLoop implements Daemon {
  readonly name: string;
  readonly #options: LeaderLoopOptions;
  readonly #stop = new AbortController();
  readonly #ready = deferred();
  #running: Promise<void> | undefined;

  constructor(options: LeaderLoopOptions) {
    this.name = options.name;
    this.#options = options;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  start(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal]);
    const { leadership } = this.#options;
    // A standby counts as ready.
    if (leadership !== undefined && leadership.leadsAtOnce !== true) this.#ready.resolve();
    const work = (leading: AbortSignal) => this.#term(leading);
    this.#running = (leadership === undefined ? work(stop) : leadership.lead(work, stop)).catch((error: unknown) => {
      this.#ready.reject(error);
      throw error;
    });
    return this.#running;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#ready.reject(new Error(`${this.name} stopped`));
    // `start` reports the failure.
    await this.#running?.catch(() => undefined);
  }

  async #term(leading: AbortSignal): Promise<void> {
    try {
      await this.#options.run(leading, () => this.#ready.resolve());
    } catch (error) {
      if (!leading.aborted) throw error;
    }
  }
}
