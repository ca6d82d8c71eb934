/** Converts errors of the store to Status errors of the API. */
import {
  expired,
  internalError,
  requestEntityTooLarge,
  type StatusError,
  serviceUnavailable,
  timeout,
  tooLargeResourceVersion,
} from '#apimachinery/errors/status.js';
import { type Revision, StoreError, type StoreErrorCode } from '#storage/store.js';

/** 1.24's text for an exact read of compacted history. */
const exactExpiredMessage = 'The resourceVersion for the provided list is too old.';

/** An etcd without space raises an alarm, which stays until it is disarmed. */
const makeRoom =
  'deletions are still taken: delete what is not needed, and some minutes later, when history has been compacted, run "etcdctl defrag" and "etcdctl alarm disarm"; or start etcd with a larger --quota-backend-bytes and disarm the alarm';

const byCode: { readonly [code in StoreErrorCode]: (error: StoreError) => StatusError } = {
  compacted: () => expired(exactExpiredMessage),
  futureRevision: () => timeout('Too large resource version', 1),
  unavailable: (error) => serviceUnavailable(error.message),
  timeout: (error) => timeout(error.message, 1),
  tooLarge: (error) => requestEntityTooLarge(error.message),
  noSpace: (error) => serviceUnavailable(`${error.message}; ${makeRoom}`),
};

/** The API error of a store error; other errors are returned unchanged. */
export function statusFromStore(error: unknown): unknown {
  return error instanceof StoreError ? byCode[error.code](error) : error;
}

/** 500 for an unreadable stored value; `reason` contains nothing of it. */
export function unreadableEntry(key: string, reason: string): StatusError {
  return internalError(`unable to transform key ${JSON.stringify(key)}: ${reason}`);
}

/** 410 for a watch that starts before the kept history, with 1.24's text. */
export function watchTooOld(requested: Revision, oldest: Revision): StatusError {
  return expired(`too old resource version: ${requested} (${oldest})`);
}

/** 504 for a version that was not reached in time. */
export function notReached(requested: Revision, current: Revision): StatusError {
  return tooLargeResourceVersion(requested, current);
}
