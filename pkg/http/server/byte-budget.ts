/**
 * The memory that all answers under way share. An answer takes its part before it is written and gives it back when it
 * has left or its client is gone. Beyond the budget answers wait in line; beyond the line they are refused, so that no
 * mix of requests and of slow clients makes the server run out of memory.
 */
import type { Clock } from '#apimachinery/clock.js';
import { tooManyRequests } from '#apimachinery/errors/status.js';

export interface ByteBudgetOptions {
  readonly clock: Clock;
  readonly bytes: number;
  /** Answers that wait at most. */
  readonly maxWaiting: number;
  /** Longest wait of one. */
  readonly maxWaitMs: number;
  /** Called for each answer that is refused. */
  readonly refused?: () => void;
}

interface Waiting {
  readonly bytes: number;
  readonly admit: () => void;
}

const retryAfterSeconds = 1;

export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  #used = 0;
  /** In the order of their arrival: a big one is not overtaken by small ones for ever. */
  readonly #line = new Set<Waiting>();

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
  }

  /** Bytes that answers hold now. */
  get used(): number {
    return this.#used;
  }

  /** Whether there is so much of it that an answer may hold `bytes` though it can do with less: a quarter is for such. */
  isAmpleFor(bytes: number): boolean {
    return (this.#used + bytes) * 4 <= this.#options.bytes;
  }

  /** Answers that wait now. */
  get waiting(): number {
    return this.#line.size;
  }

  /**
   * Takes `bytes`, or all there is where they are more, and resolves with the function that gives them back (to be called
   * once). Throws 429 with Retry-After when too many wait already or the wait is too long, and the reason of the
   * signal when it aborts.
   */
  async take(bytes: number, gone: { readonly signal: AbortSignal }): Promise<() => void> {
    const { bytes: budget, maxWaiting } = this.#options;
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
        // The next in line may be smaller.
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
      if (this.#used + bytes > this.#options.bytes) return;
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
