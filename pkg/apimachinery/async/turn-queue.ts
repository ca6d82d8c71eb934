/** Long work in short turns, so that it does not hold up everybody else. */
import type { Clock } from '#apimachinery/clock.js';

export interface TurnQueueOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Calls a function in a later turn of the event loop, after what is ready by then: `setImmediate`. */
  readonly defer: (fn: () => void) => void;
}

/** Longest turn of the event loop that all long work takes together. */
const maxTurnMs = 4;

/**
 * Those who have work for more than one turn. Each turn goes to one of them, so that many hold the event loop no longer
 * than one does: as long as all of a server share one queue.
 */
export class TurnQueue {
  readonly #options: TurnQueueOptions;
  readonly #waiting: (() => void)[] = [];
  #scheduled = false;
  /** When work of the present turn began, as far as anybody has asked. */
  #sinceMs: number | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
  }

  /**
   * To be called now and then during long work. Returns a promise to wait for when the present turn has lasted long enough,
   * with whatever long work others have done in it.
   */
  pause(): Promise<void> | undefined {
    const now = this.#options.clock.monotonic();
    if (this.#sinceMs === undefined) {
      this.#sinceMs = now;
      this.#schedule();
      return undefined;
    }
    return now - this.#sinceMs < maxTurnMs ? undefined : this.next();
  }

  /** Resolves in a later turn, one turn for each that waits: between the steps of work that is long. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
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
    if (this.#waiting.length > 0) this.#schedule();
    next?.();
  };
}
