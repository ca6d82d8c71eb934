/**
 * Memory shared by all responses in progress. A response takes its share before it is written and returns it when it
 * has left or its client is gone. If the budget is used up, responses queue; if the queue is full, they are refused. So
 * no mix of requests and slow clients exhausts the server's memory.
 */
import type { Clock } from '#apimachinery/clock.js';
import { tooManyRequests } from '#apimachinery/errors/status.js';

export interface ByteBudgetOptions {
  readonly clock: Clock;
  readonly bytes: number;
  /** Limit of waiting responses. */
  readonly maxWaiting: number;
  /** Longest wait. */
  readonly maxWaitMs: number;
  /** Called for each refused response. */
  readonly refused?: () => void;
}

interface Waiting {
  readonly bytes: number;
  readonly admit: () => void;
}

const retryAfterSeconds = 1;

export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  #bytes: number;
  #used = 0;
  /** In order of arrival, so that small responses do not overtake a large one for ever. */
  readonly #line = new Set<Waiting>();

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
    this.#bytes = options.bytes;
  }

  /** Sets the budget; what is in use stays so. */
  resize(bytes: number): void {
    this.#bytes = bytes;
    this.#admit();
  }

  /** Bytes in use. */
  get used(): number {
    return this.#used;
  }

  /** Whether a response may use `bytes` although fewer suffice: a quarter of the budget is for that. */
  isAmpleFor(bytes: number): boolean {
    return (this.#used + bytes) * 4 <= this.#bytes;
  }

  /** Waiting responses. */
  get waiting(): number {
    return this.#line.size;
  }

  /**
   * Takes `bytes`, at most the whole budget, and resolves with a function that returns them (call it once). Throws 429
   * with Retry-After if the queue is full or the wait too long, and the signal's reason if it aborts.
   */
  async take(bytes: number, gone: { readonly signal: AbortSignal }): Promise<() => void> {
    const { maxWaiting } = this.#options;
    const budget = this.#bytes;
    const part = Math.min(bytes, budget);
    if (this.#line.size === 0 && this.#used + part <= budget) this.#used += part;
    else if (this.#line.size >= maxWaiting) throw this.#busy();
    else await this.#wait(part, gone.signal);
    return () => this.#give(part);
  }

  #wait(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer.cancel();
        signal.removeEventListener('abort', abort);
        this.#line.delete(waiting);
      };
      const waiting = {
        bytes,
        admit: () => {
          leave();
          resolve();
        },
      };
      const refuse = (error: unknown) => {
        leave();
        reject(error);
        // The next one may be smaller.
        this.#admit();
      };
      const abort = () => refuse(signal.reason);
      const timer = this.#options.clock.setTimer(() => refuse(this.#busy()), this.#options.maxWaitMs);
      this.#line.add(waiting);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
  }

  #give(bytes: number): void {
    this.#used -= bytes;
    this.#admit();
  }

  #admit(): void {
    for (const { bytes, admit } of this.#line) {
      // After the budget has shrunk, one response may exceed it alone.
      if (this.#used > 0 && this.#used + bytes > this.#bytes) return;
      this.#used += bytes;
      admit();
    }
  }

  #busy(): Error {
    this.#options.refused?.();
    return tooManyRequests(
      'The server is sending as much as its memory allows, please try again later.',
      retryAfterSeconds,
    );
  }
}
