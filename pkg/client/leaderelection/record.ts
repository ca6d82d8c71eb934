/** What a candidate observes of the lock, and what it does next. Pure. */

/** The lock's content, independent of the object that holds it. */
export interface LeaderRecord {
  /** Empty if the lock is free. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds. Times of the holder's clock; never compared with another clock. */
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly leaderTransitions: number;
}

/** A record and the local time when it was first seen, so that clock skew does not matter. */
export interface Observation {
  readonly record: LeaderRecord;
  /** Monotonic milliseconds. */
  readonly seenAtMs: number;
}

/** The observation after `record` was read at `nowMs`; an unchanged record keeps the time when it was first seen. */
export function observe(previous: Observation | undefined, record: LeaderRecord, nowMs: number): Observation {
  return previous !== undefined && sameRecord(previous.record, record) ? previous : { record, seenAtMs: nowMs };
}

export type Decision =
  /** Another candidate holds the lock and it has not expired. */
  | { readonly kind: 'wait'; readonly expiresInMs: number }
  /** The lock is ours, free or expired. */
  | { readonly kind: 'write'; readonly record: LeaderRecord };

export interface Candidate {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** The lock expires by itself: it is never taken from another holder, however long it stays unchanged. */
  readonly selfExpiring?: boolean;
  /** Begin a new term: a record of ours belongs to an earlier one. */
  readonly newTerm?: boolean;
}

/** Whether the lock still shows the term that began with `term`. */
export function sameTerm(term: LeaderRecord, record: LeaderRecord | undefined): boolean {
  return (
    record?.holderIdentity === term.holderIdentity &&
    record.leaderTransitions === term.leaderTransitions &&
    record.acquireTime === term.acquireTime
  );
}

/** Decides the candidate's next step. `time`: the candidate's clock, for the record. */
export function decide(
  candidate: Candidate,
  observation: Observation | undefined,
  now: { readonly monotonicMs: number; readonly time: string },
): Decision {
  const { identity, leaseDurationMs, selfExpiring = false, newTerm = false } = candidate;
  const leaseDurationSeconds = Math.ceil(leaseDurationMs / 1000);
  const fresh = { holderIdentity: identity, leaseDurationSeconds, renewTime: now.time };
  if (observation === undefined) {
    return { kind: 'write', record: { ...fresh, acquireTime: now.time, leaderTransitions: 0 } };
  }
  const { record, seenAtMs } = observation;
  if (record.holderIdentity === identity) {
    const { leaderTransitions } = record;
    const acquireTime = newTerm ? now.time : record.acquireTime;
    return { kind: 'write', record: { ...fresh, acquireTime, leaderTransitions } };
  }
  const expiresInMs = seenAtMs + leaseDurationMs - now.monotonicMs;
  if (record.holderIdentity !== '' && (selfExpiring || expiresInMs > 0)) return { kind: 'wait', expiresInMs };
  const leaderTransitions = record.leaderTransitions + 1;
  return { kind: 'write', record: { ...fresh, acquireTime: now.time, leaderTransitions } };
}

/** The record of a released lock, which is free at once, as in client-go. */
export function releasedRecord(record: LeaderRecord, time: string): LeaderRecord {
  const { leaderTransitions } = record;
  return { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time, leaderTransitions };
}

function sameRecord(a: LeaderRecord, b: LeaderRecord): boolean {
  return (
    a.holderIdentity === b.holderIdentity &&
    a.leaseDurationSeconds === b.leaseDurationSeconds &&
    a.acquireTime === b.acquireTime &&
    a.renewTime === b.renewTime &&
    a.leaderTransitions === b.leaderTransitions
  );
}
