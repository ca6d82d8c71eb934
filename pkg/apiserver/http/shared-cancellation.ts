import type { Cancellation, CancellationListener } from '#apimachinery/cancellation.js';

/**
 * A signal that very many listen to. An AbortSignal looks through all its listeners for each that comes or goes; here that
 * costs the same however many there are.
 */
export class SharedCancellation implements Cancellation {
  readonly #signal: AbortSignal;
  readonly #listeners = new Set<CancellationListener>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#tell(), { once: true });
  }

  get aborted(): boolean {
    return this.#signal.aborted;
  }

  get reason(): unknown {
    return this.#signal.reason;
  }

  throwIfAborted(): void {
    this.#signal.throwIfAborted();
  }

  /** Each is called once. */
  addEventListener(_type: 'abort', listener: CancellationListener): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: CancellationListener): void {
    this.#listeners.delete(listener);
  }

  #tell(): void {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) {
      if (typeof listener === 'function') listener();
      else listener.handleEvent();
    }
  }
}
