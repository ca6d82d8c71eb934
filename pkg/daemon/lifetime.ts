import { type Deferred, deferred } from '#apimachinery/async/deferred.js';

/** Start, readiness and end of a daemon that does one piece of work until it is stopped; see `Daemon`. */
export class Lifetime {
  readonly #what: string;
  readonly #ready: Deferred<void> = deferred();
  readonly #stop = new AbortController();
  #work: Promise<void> | undefined;

  /** @param what The daemon's name in messages: `the name server`. */
  constructor(what: string) {
    this.#what = what;
    // A failure reaches the callers of `ready`; without one it must not end the process.
    this.#ready.promise.catch(() => undefined);
  }

  /** True once the daemon is asked to stop. */
  get isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Runs the work; its signal aborts with `signal` and on `close`. Rejects as the work does. */
  async run(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const abort = () => this.#stop.abort();
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    this.#work = work(this.#stop.signal);
    try {
      await this.#work;
    } finally {
      signal.removeEventListener('abort', abort);
      this.#ready.reject(new Error(`${this.#what} was stopped before it was ready`));
    }
  }

  /** Called by the work. */
  becameReady(): void {
    this.#ready.resolve();
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }
}
