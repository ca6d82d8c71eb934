/** Failures of calls to CSI drivers, and what they say about the state of a volume. */
import type { CallFailure } from '#nodeagent/grpc/channel.js';

/** Names of gRPC's status codes, by number. */
const codeNames = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

type CSIErrorCode = (typeof codeNames)[number];

/** Longer messages of drivers are cut, since they get into events and logs. */
const maxMessageLength = 1024;

/** A driver answered a call with an error, or did not answer. The message has the form of gRPC's errors in Go. */
export class CSIError extends Error {
  override readonly name = 'CSIError';
  readonly code: CSIErrorCode;

  constructor(code: CSIErrorCode, description: string, options?: { readonly cause?: unknown }) {
    super(`rpc error: code = ${code} desc = ${bounded(description)}`, options);
    this.code = code;
  }
}

function bounded(text: string): string {
  return text.length <= maxMessageLength ? text : `${text.slice(0, maxMessageLength)}…`;
}

/** After these codes an operation may still run in the driver. */
const pendingCodes: ReadonlySet<CSIErrorCode> = new Set([
  'Canceled',
  'DeadlineExceeded',
  'Unavailable',
  'ResourceExhausted',
  'Aborted',
]);

/** The error of a call. */
export function csiErrorOf({ code, message, cause }: CallFailure): CSIError {
  return new CSIError(codeNames[code] ?? 'Unknown', message, { cause });
}

/**
 * What a failure tells about a volume, as in 1.24:
 *
 *   - `failed`: the operation has ended without an effect, so nothing must be undone;
 *   - `unstarted`: the operation did not reach the driver, so the volume is as before;
 *   - `uncertain`: the operation may have succeeded or may still run, so it must be undone.
 */
export type Effect = 'failed' | 'unstarted' | 'uncertain';

/** An operation on a volume failed. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly effect: Effect;

  constructor(message: string, effect: Effect, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.effect = effect;
  }
}

/** The effect of a failed call that changes a volume. Errors without a code come from this side of the connection. */
export function effectOf(error: unknown): Effect {
  if (error instanceof OperationError) return error.effect;
  if (error instanceof CSIError) return pendingCodes.has(error.code) ? 'uncertain' : 'failed';
  return 'failed';
}
