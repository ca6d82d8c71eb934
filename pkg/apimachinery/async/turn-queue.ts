/** Splits long work into short turns of the event loop, so that it does not delay other work. */
import type { Clock } from '#apimachinery/clock.js';

export interface TurnQueueOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Calls a function in the next turn of the event loop, after the events that are ready by then: `setImmediate`. */
  readonly defer: (fn: () => void) => void;
}

/** Maximum time per turn of the event loop for all long work together. */
const maxTurnMs = 4;

/** Where long work waits. */
export type Turns = Pick<TurnQueue, 'pause' | 'next'>;

/**
 * A queue of long tasks. Each turn runs one of them, so that many hold up the event loop no longer than one, provided
 * that the whole server shares one queue. Tasks in bulk, such as lists, have a line of their own, from which each turn runs one,
 * too: a flood of them does not delay a write.
 */
export class TurnQueue {
  /** For work that clients can cause without writing anything. */
  readonly bulk: Turns;
  readonly #options: TurnQueueOptions;
  readonly #waiting: (() => void)[] = [];
  readonly #bulk: (() => void)[] = [];
  #scheduled = false;
  /** Start of work in the current turn, if `pause` was called in it. */
  #sinceMs: number | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
    this.bulk = {
      pause: () => this.#pause(this.#bulk),
      next: () => this.#next(this.#bulk),
    };
  }

  /** Tasks that wait for a turn. */
  get waiting(): number {
    return this.#waiting.length + this.#bulk.length;
  }

  /**
   * Call this regularly during long work. Returns a promise to await once all long work has used up the current turn.
   */
  pause(): Promise<void> | undefined {
    return this.#pause(this.#waiting);
  }

  /** Resolves in a later turn, one turn per waiting task. */
  next(): Promise<void> {
    return this.#next(this.#waiting);
  }

  #pause(line: (() => void)[]): Promise<void> | undefined {
    const now = this.#options.clock.monotonic();
    if (this.#sinceMs === undefined) {
      this.#sinceMs = now;
      this.#schedule();
      return undefined;
    }
    return now - this.#sinceMs < maxTurnMs ? undefined : this.#next(line);
  }

  #next(line: (() => void)[]): Promise<void> {
    return new Promise((resolve) => {
      line.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.defer(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#sinceMs = undefined;
    this.#scheduled = false;
    const next = this.#waiting.shift();
    const bulk = this.#bulk.shift();
    if (this.#waiting.length > 0 || this.#bulk.length > 0) this.#schedule();
    next?.();
    bulk?.();
  };
}
