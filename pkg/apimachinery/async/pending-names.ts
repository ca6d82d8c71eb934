import type { Cancellation } from '#apimachinery/cancellation.js';

/** Names about which something is to be done: each waits once, however often it is marked, in the order of the first time. */
export class PendingNames {
  readonly #names = new Set<string>();
  #wake: (() => void) | undefined;

  mark(name: string): void {
    this.#names.add(name);
    this.#wake?.();
  }

  /** Takes one out at a time, as they come, until the signal aborts. */
  async *taken(signal: Cancellation): AsyncGenerator<string, void, void> {
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
