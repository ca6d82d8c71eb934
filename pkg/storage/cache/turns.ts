/** Long work in short turns, so that it does not hold up everybody else. */
import type { Clock } from '#apimachinery/clock.js';

/** Longest turn of the event loop that all long work takes together. */
const maxTurnMs = 4;

/**
 * The line of those who have work for more than one turn. Each turn goes to one of them, so that many hold the event loop
 * no longer than one does.
 */
class Line {
  readonly #waiting: (() => void)[] = [];
  #scheduled = false;
  /** When work of the present turn began, as far as anybody has asked. */
  #sinceMs: number | undefined;

  pause(clock: Pick<Clock, 'monotonic'>): Promise<void> | undefined {
    const now = clock.monotonic();
    if (this.#sinceMs === undefined) {
      this.#sinceMs = now;
      this.#schedule();
      return undefined;
    }
    if (now - this.#sinceMs < maxTurnMs) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#sinceMs = undefined;
    this.#scheduled = false;
    const next = this.#waiting.shift();
    if (this.#waiting.length > 0) this.#schedule();
    next?.();
  };
}

/** One for the process, as the event loop is. */
const line = new Line();

/**
 * A function to call now and then during long work. It returns a promise to wait for when the present turn has lasted long
 * enough, with whatever long work others have done in it.
 */
export function yielding(clock: Pick<Clock, 'monotonic'>): () => Promise<void> | undefined {
  return () => line.pause(clock);
}

/** Resolves in a later turn of the event loop, one turn for each that waits: between the steps of work that is long. */
export function nextTurn(): Promise<void> {
  return line.next();
}
