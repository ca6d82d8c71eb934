/**
 * The part of AbortSignal that a callee needs to notice cancellation. Creating an AbortSignal is expensive, and most
 * calls end before they could be aborted: `LazyAbort` implements this interface at little cost.
 */
export interface Cancellation {
  readonly aborted: boolean;
  /** Undefined until it is aborted. */
  readonly reason: unknown;
  /** Throws the reason. */
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: CancellationListener, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: CancellationListener): void;
}

export type CancellationListener = (() => void) | { handleEvent(): void };

/** An AbortController that creates its signal on first access, since most requests end without one. */
export class LazyAbort implements Cancellation {
  #controller: AbortController | undefined;
  #reason: unknown;
  #listeners: CancellationListener[] | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  /** The reason of the abort; undefined before. */
  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Each listener is called once. */
  addEventListener(_type: 'abort', listener: CancellationListener): void {
    this.#listeners ??= [];
    if (!this.#listeners.includes(listener)) this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: CancellationListener): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }

  /** Only the first reason counts. */
  abort(reason: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) {
      if (typeof listener === 'function') listener();
      else listener.handleEvent();
    }
  }
}

/**
 * A signal for a very large number of listeners. An AbortSignal scans all its listeners for each addition or removal;
 * here both take constant time.
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

  /** Each listener is called once. */
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
