/**
 * What those need of a signal who only want to hear that a call is not wanted any more. An AbortSignal is one; but making
 * one is dear, and most calls are over before anybody could abort them: see `LazyAbort`, which is one, too.
 */
export interface Cancellation {
  readonly aborted: boolean;
  /** Undefined as long as it is not aborted. */
  readonly reason: unknown;
  /** Throws the reason. */
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: CancellationListener, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: CancellationListener): void;
}

export type CancellationListener = (() => void) | { handleEvent(): void };

/**
 * An AbortController that makes its signal when it is first read: most requests are answered before. A listener of the end
 * alone needs no signal.
 */
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

  /** Why it was aborted; undefined when it was not. */
  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Each is called once. */
  addEventListener(_type: 'abort', listener: CancellationListener): void {
    this.#listeners ??= [];
    if (!this.#listeners.includes(listener)) this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: CancellationListener): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }

  /** The first reason counts. */
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
