import { type Deferred, deferred } from '#apimachinery/async/deferred.js';

/** How a daemon begins, is ready and ends that does one piece of work until it is told to stop; see `Daemon`. */
export class Lifetime {
  readonly #what: string;
  readonly #ready: Deferred<void> = deferred();
  readonly #stop = new AbortController();
  #work: Promise<void> | undefined;

  /** @param what The daemon as messages name it: `the name server`. */
  constructor(what: string) {
    this.#what = what;
    // Whoever waits for it hears of a failure.
    this.#ready.promise.catch(() => undefined);
  }

  /** It is to stop. */
  get isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Runs the work, whose signal aborts when `signal` does and on `close`. Rejects with what the work rejects with. */
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

  /** Told by the work. */
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
