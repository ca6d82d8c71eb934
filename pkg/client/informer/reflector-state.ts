/**
 * The list/watch protocol as a state machine: chooses the next request from the result of the last one. Pure.
 *
 * Flow: list (from the server's cache first) → watch from the list's version → when the watch ends, watch again from the
 * last version received → on 410, list the most recent state. If the server streams the initial state, a watch that
 * begins with it replaces each list and continues as a watch.
 *
 * Guarantees: a watch resumes only from a version up to which everything was passed on; an expired version is never
 * requested again.
 */
import { hasReason, isExpired, statusOf } from '#apimachinery/errors/status.js';
import { isTransportError } from '#http/client/transport-error.js';

export type ReflectorState =
  /**
   * `resourceVersion: '0'` accepts any state of the server's cache that is not older than an earlier one; absent: the
   * most recent state.
   */
  | { readonly phase: 'list' | 'stream'; readonly resourceVersion: string | undefined }
  | { readonly phase: 'watch'; readonly resourceVersion: string };

export type ReflectorInput =
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  | { readonly kind: 'listFailed'; readonly error: unknown }
  /** The stream ended before the initial state was complete. */
  | { readonly kind: 'streamFailed'; readonly error: unknown }
  /** The watch ended; `resourceVersion` is the last one received, `error` absent after a clean end. */
  | { readonly kind: 'watchEnded'; readonly resourceVersion: string; readonly error?: unknown };

export interface Transition {
  readonly state: ReflectorState;
  /** Whether to wait, with growing delays, before the next request. */
  readonly backOff: boolean;
}

export const initialState: ReflectorState = { phase: 'list', resourceVersion: '0' };

/** The state with streaming instead of listing. */
export function streaming(state: ReflectorState): ReflectorState {
  return state.phase === 'list' ? { ...state, phase: 'stream' } : state;
}

/** Whether streaming failed because the server does not support it; then it is not tried again. */
export function cannotStream(input: ReflectorInput): boolean {
  if (input.kind !== 'streamFailed') return false;
  return (['Invalid', 'BadRequest', 'MethodNotAllowed'] as const).some((reason) => hasReason(input.error, reason));
}

/** Transitions for lists; `streaming` turns them into streams. */
export function nextState(state: ReflectorState, input: ReflectorInput): Transition {
  switch (input.kind) {
    case 'listed':
      return { state: { phase: 'watch', resourceVersion: input.resourceVersion }, backOff: false };
    case 'streamFailed':
    case 'listFailed': {
      const version = state.phase === 'watch' ? undefined : state.resourceVersion;
      if (cannotStream(input)) return { state: { phase: 'list', resourceVersion: version }, backOff: false };
      // The version is expired, or ahead of this server (restored or lagging): accept what the server has.
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
        isTransportError(input.error) || hasReason(input.error, 'TooManyRequests') || isTemporary(input.error);
      if (resumable) return { state: { phase: 'watch', resourceVersion: input.resourceVersion }, backOff: true };
      return { state: { phase: 'list', resourceVersion: undefined }, backOff: true };
    }
    default:
      return input satisfies never;
  }
}

/** Whether it is release 1.24's 504 for a version that the server has not reached. */
function isTooLargeVersion(error: unknown): boolean {
  const status = statusOf(error);
  if (status?.reason !== 'Timeout') return false;
  return status.details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') === true;
}

/** Whether it is a temporary server failure, which says nothing about the version. */
function isTemporary(error: unknown): boolean {
  return (
    (['ServiceUnavailable', 'Timeout', 'ServerTimeout', 'InternalError', 'Unauthorized'] as const).some((reason) =>
      hasReason(error, reason),
    ) && !isTooLargeVersion(error)
  );
}
