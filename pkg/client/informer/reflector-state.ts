/**
 * The list/watch protocol as a state machine: which request comes next, given how the last one ended. Pure.
 *
 * Flow: list (from the cache first, in pages) → watch from the list's version → on a clean or broken end, watch again
 * from the last version seen → on 410, list again from the most recent state. Where the server streams the initial
 * state, a watch that begins with it stands for each list and goes on as a watch.
 *
 * Guarantees: a version is only resumed from when everything up to it has been handed on; a version that the server
 * does not know any more is never asked for again.
 */
import { hasReason, isExpired, statusOf } from '#apimachinery/errors/status.js';
import { isTransportError } from '#http/client/transport-error.js';

export type ReflectorState =
  /**
   * `resourceVersion: '0'` takes whatever state the server has at hand, but never older than one seen before;
   * absent, the most recent one.
   */
  | { readonly phase: 'list' | 'stream'; readonly resourceVersion: string | undefined }
  | { readonly phase: 'watch'; readonly resourceVersion: string };

export type ReflectorInput =
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  | { readonly kind: 'listFailed'; readonly error: unknown }
  /** A stream ended before the initial state was complete. */
  | { readonly kind: 'streamFailed'; readonly error: unknown }
  /** The watch ended; `resourceVersion` is the last one seen in it, `error` absent when it ended cleanly. */
  | { readonly kind: 'watchEnded'; readonly resourceVersion: string; readonly error?: unknown };

export interface Transition {
  readonly state: ReflectorState;
  /** Whether to wait with growing delays before going on. */
  readonly backOff: boolean;
}

export const initialState: ReflectorState = { phase: 'list', resourceVersion: '0' };

/** The state with a stream in the place of a list. */
export function streaming(state: ReflectorState): ReflectorState {
  return state.phase === 'list' ? { ...state, phase: 'stream' } : state;
}

/** True if a stream failed because the server does not support streaming: it is not tried again. */
export function cannotStream(input: ReflectorInput): boolean {
  if (input.kind !== 'streamFailed') return false;
  return (['Invalid', 'BadRequest', 'MethodNotAllowed'] as const).some((reason) => hasReason(input.error, reason));
}

/** With lists only: see `streaming`. */
export function nextState(state: ReflectorState, input: ReflectorInput): Transition {
  switch (input.kind) {
    case 'listed':
      return { state: { phase: 'watch', resourceVersion: input.resourceVersion }, backOff: false };
    case 'streamFailed':
    case 'listFailed': {
      const version = state.phase === 'watch' ? undefined : state.resourceVersion;
      if (cannotStream(input)) return { state: { phase: 'list', resourceVersion: version }, backOff: false };
      // The version asked for is gone, or not reached by this server (a restored or lagging one): take what there is.
      const lost = isExpired(input.error) || isTooLargeVersion(input.error);
      if (lost && version !== undefined)
        return { state: { phase: 'list', resourceVersion: undefined }, backOff: false };
      return { state: { phase: 'list', resourceVersion: version }, backOff: true };
    }
    case 'watchEnded': {
      if (input.error === undefined) {
        return { state: { phase: 'watch', resourceVersion: input.resourceVersion }, backOff: false };
      }
      if (isExpired(input.error)) return { state: { phase: 'list', resourceVersion: undefined }, backOff: false };
      const resumable =
        isTransportError(input.error) || hasReason(input.error, 'TooManyRequests') || isPassing(input.error);
      if (resumable) return { state: { phase: 'watch', resourceVersion: input.resourceVersion }, backOff: true };
      return { state: { phase: 'list', resourceVersion: undefined }, backOff: true };
    }
    default:
      return input satisfies never;
  }
}

/** 504 with the cause that release 1.24 gives to a version that the server has not reached. */
function isTooLargeVersion(error: unknown): boolean {
  const status = statusOf(error);
  if (status?.reason !== 'Timeout') return false;
  return status.details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') === true;
}

/** Temporary failures of the server, which say nothing about the version. */
function isPassing(error: unknown): boolean {
  return (
    (['ServiceUnavailable', 'Timeout', 'ServerTimeout', 'InternalError', 'Unauthorized'] as const).some((reason) =>
      hasReason(error, reason),
    ) && !isTooLargeVersion(error)
  );
}
