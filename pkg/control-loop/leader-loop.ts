/** A daemon that does one thing whenever it leads, and begins it anew each time. */
import { deferred } from '#apimachinery/async/deferred.js';
import type { Daemon } from '#daemon/daemon.js';

/** Lets work run only while this process leads. */
export interface Leadership {
  /** It begins by leading: whoever waits until the work is ready need not be content with one that stands by. */
  readonly leadsAtOnce?: boolean;
  /**
   * Runs `work` whenever this process leads; the work's signal aborts when leadership is lost, and the candidacy begins
   * again: a lost lease ends the work, not the process. Resolves after `signal` aborted and the work ended; rejects when
   * the work did.
   */
  lead(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface LeaderLoopOptions {
  readonly name: string;
  /** Absent: leads always. */
  readonly leadership?: Leadership | undefined;
  /**
   * One term's work: until `signal` aborts, with caches and queues of its own; calls `synced` when its caches are
   * filled. Rejects when it cannot go on; what it rejects with after `signal` aborted does not count.
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
    // One that stands by is ready: nothing but the other one's end is missing.
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
    // Why it failed is told to whoever started it.
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
