/** Failures of a container runtime; each implementation of the CRI translates its errors to these. */
import { messageOf } from '#apimachinery/errors/message.js';

export type CRIErrorCode =
  /** No such sandbox, container or image. */
  | 'NotFound'
  | 'AlreadyExists'
  | 'InvalidArgument'
  /** The runtime did not answer in time; the call may still take effect. */
  | 'DeadlineExceeded'
  /** No connection to the runtime. */
  | 'Unavailable'
  /** The caller cancelled the call. */
  | 'Cancelled'
  | 'Unimplemented'
  /** Any other failure, with the runtime's message. */
  | 'Unknown';

export class CRIError extends Error {
  override readonly name = 'CRIError';
  readonly code: CRIErrorCode;

  constructor(code: CRIErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** True for a CRIError of that code. */
export function isCRIError(error: unknown, code: CRIErrorCode): boolean {
  return error instanceof CRIError && error.code === code;
}

/** An error's text for events and statuses, as in release 1.24; runtime errors have the call's code in front. */
export function rpcMessageOf(error: unknown): string {
  if (!(error instanceof CRIError)) return messageOf(error);
  return `rpc error: code = ${error.code === 'Cancelled' ? 'Canceled' : error.code} desc = ${error.message}`;
}
