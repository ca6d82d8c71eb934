/** Failures of calls to plugins and drivers, in the words of Go's gRPC, which logs and events of 1.24 show. */
import { status } from '@grpc/grpc-js';

/** Go's name of a code, such as `Unavailable`. */
function codeName(code: status): string {
  const words = (status[code] ?? '').toLowerCase().split('_');
  if (code === status.OK) return 'OK';
  if (code === status.CANCELLED) return 'Canceled';
  if (words[0] === '') return `Code(${code})`;
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: status;
  /** The server's own words. */
  readonly details: string;

  constructor({ code, message, cause }: { readonly code: status; readonly message: string; readonly cause?: unknown }) {
    super(`rpc error: code = ${codeName(code)} desc = ${message}`, { cause });
    this.code = code;
    this.details = message;
  }
}
