/** A followed value that a test sets. */
import type { Followed } from '#daemon/certificates/followed-file.js';

export class Settable<T> implements Followed<T> {
  #current: T;
  readonly #listeners: (() => void)[] = [];

  constructor(current: T) {
    this.#current = current;
  }

  get current(): T {
    return this.#current;
  }

  onChange(changed: () => void): void {
    this.#listeners.push(changed);
  }

  set(value: T): void {
    this.#current = value;
    for (const changed of this.#listeners) changed();
  }
}
