/** Turns of the event loop for work that comes in slices: one waiter at a time, so that many of them hold it no longer. */

export class Turns {
  readonly #waiting: (() => void)[] = [];
  #scheduled = false;
  readonly #next = (): void => {
    this.#waiting.shift()?.();
    this.#scheduled = this.#waiting.length > 0;
    if (this.#scheduled) setImmediate(this.#next);
  };

  /** Resolves in a turn of its own, after all who came before. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(this.#next);
    });
  }
}
