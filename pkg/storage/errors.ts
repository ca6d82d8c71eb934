/** The one place where what the store could not do becomes a Status of the API. */
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

/** Wording of 1.24 for an exact read of history that is gone. */
const exactExpiredMessage = 'The resourceVersion for the provided list is too old.';

/** An etcd without space raises an alarm, which stays until somebody ends it. */
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

/** The API's error for a store's; any other error unchanged. */
export function statusFromStore(error: unknown): unknown {
  return error instanceof StoreError ? byCode[error.code](error) : error;
}

/** 500 for a stored value that cannot be read; `reason` tells nothing of the value. */
export function unreadableEntry(key: string, reason: string): StatusError {
  return internalError(`unable to transform key ${JSON.stringify(key)}: ${reason}`);
}

/** 410 for a watch that starts before the kept history, in the wording of 1.24. */
export function watchTooOld(requested: Revision, oldest: Revision): StatusError {
  return expired(`too old resource version: ${requested} (${oldest})`);
}

/** 504 for a version that was not reached in time. */
export function notReached(requested: Revision, current: Revision): StatusError {
  return tooLargeResourceVersion(requested, current);
}
