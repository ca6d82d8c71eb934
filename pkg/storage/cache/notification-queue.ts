/** Notifies many who wait for the same thing in several turns of the event loop, so that it is not held by all at once. */

/** Those notified in one turn: what each of them does takes some tens of microseconds. */
const batchSize = 64;

export class NotificationQueue {
  #notified = 0;
  #waiting: (() => void)[] = [];
  #scheduled = false;

  /** Calls `notify` now, or in one of the next turns after those that came before. */
  add(notify: () => void): void {
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(this.#nextTurn);
    }
    if (this.#notified < batchSize && this.#waiting.length === 0) {
      this.#notified++;
      notify();
    } else this.#waiting.push(notify);
  }

  readonly #nextTurn = (): void => {
    const now = this.#waiting.slice(0, batchSize);
    this.#waiting = this.#waiting.slice(batchSize);
    this.#notified = now.length;
    this.#scheduled = now.length > 0;
    if (this.#scheduled) setImmediate(this.#nextTurn);
    for (const notify of now) notify();
  };
}
