import type { Cancellation } from '#apimachinery/cancellation.js';

/** A queue of distinct names in order of their first addition. */
export class NameQueue {
  readonly #names = new Set<string>();
  #wake: (() => void) | undefined;

  add(name: string): void {
    this.#names.add(name);
    this.#wake?.();
  }

  /** Removes and yields one name at a time until the signal aborts. */
  async *drain(signal: Cancellation): AsyncGenerator<string, void, void> {
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        const [name] = this.#names;
        if (name === undefined) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          continue;
        }
        this.#names.delete(name);
        yield name;
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }
}
