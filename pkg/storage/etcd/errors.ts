/** Maps errors of etcd and gRPC to StoreErrors. Messages: etcd's rpctypes. */
import { messageOf } from '#apimachinery/errors/message.js';
import { grpcStatus } from '#http/grpc/status.js';
import { StoreError, type StoreErrorCode } from '#storage/store.js';

interface Row {
  readonly grpc: number;
  /** Part of the message; absent: any. */
  readonly text?: string;
  readonly code: StoreErrorCode;
}

/** Errors by code and text; the first match counts. */
const table: readonly Row[] = [
  { grpc: grpcStatus.OUT_OF_RANGE, text: 'required revision has been compacted', code: 'compacted' },
  { grpc: grpcStatus.OUT_OF_RANGE, text: 'required revision is a future revision', code: 'futureRevision' },
  { grpc: grpcStatus.RESOURCE_EXHAUSTED, text: 'database space exceeded', code: 'noSpace' },
  { grpc: grpcStatus.RESOURCE_EXHAUSTED, text: 'larger than max', code: 'tooLarge' },
  { grpc: grpcStatus.INVALID_ARGUMENT, text: 'request is too large', code: 'tooLarge' },
  { grpc: grpcStatus.UNAVAILABLE, text: 'request timed out', code: 'timeout' },
  { grpc: grpcStatus.DEADLINE_EXCEEDED, code: 'timeout' },
];

/** The gRPC status code of an error; undefined if it has none. */
function grpcCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'number' ? error.code : undefined;
}

/** The StoreError of an error; unknown ones are `unavailable`, so that callers try again later. */
export function translateEtcdError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = grpcCode(error);
  const message = detailsOf(error);
  const row = table.find((r) => r.grpc === code && (r.text === undefined || message.includes(r.text)));
  return new StoreError(row?.code ?? 'unavailable', message, { cause: error });
}

function detailsOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'details' in error && typeof error.details === 'string') {
    return error.details;
  }
  return messageOf(error);
}

/** True for a write with a lease that has ended. */
export function isLeaseNotFound(error: unknown): boolean {
  return grpcCode(error) === grpcStatus.NOT_FOUND && detailsOf(error).includes('lease not found');
}

/** True for the answer of a member that has no vote yet: it has done nothing. */
export function isLearnersRefusal(error: unknown): boolean {
  return detailsOf(error).includes('not supported for learner');
}
