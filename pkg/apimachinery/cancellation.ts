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
