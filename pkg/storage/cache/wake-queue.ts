/** Wakes many who wait for the same thing in several turns of the event loop, so that it is not held by all at once. */

/** Those woken in one turn: what each of them does takes some tens of microseconds. */
const atOnce = 64;

export class WakeQueue {
  #woken = 0;
  #waiting: (() => void)[] = [];
  #scheduled = false;

  /** Calls `wake` now, or in one of the next turns after those that came before. */
  add(wake: () => void): void {
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(this.#nextTurn);
    }
    if (this.#woken < atOnce && this.#waiting.length === 0) {
      this.#woken++;
      wake();
    } else this.#waiting.push(wake);
  }

  readonly #nextTurn = (): void => {
    const now = this.#waiting.slice(0, atOnce);
    this.#waiting = this.#waiting.slice(atOnce);
    this.#woken = now.length;
    this.#scheduled = now.length > 0;
    if (this.#scheduled) setImmediate(this.#nextTurn);
    for (const wake of now) wake();
  };
}
