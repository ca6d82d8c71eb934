/** Failures of a container runtime, translated once by each implementation of the CRI. */
import { messageOf } from '#apimachinery/errors/message.js';

export type CRIErrorCode =
  /** No such sandbox, container or image. */
  | 'NotFound'
  | 'AlreadyExists'
  | 'InvalidArgument'
  /** The runtime did not answer in time; what was asked may still happen. */
  | 'DeadlineExceeded'
  /** No connection to the runtime. */
  | 'Unavailable'
  /** The caller gave up. */
  | 'Cancelled'
  | 'Unimplemented'
  /** Any other failure; the message is the runtime's. */
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

/** An error's text as release 1.24 puts it into events and statuses; what the runtime says has the call's code in front. */
export function rpcMessageOf(error: unknown): string {
  if (!(error instanceof CRIError)) return messageOf(error);
  return `rpc error: code = ${error.code === 'Cancelled' ? 'Canceled' : error.code} desc = ${error.message}`;
}
