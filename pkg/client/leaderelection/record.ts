/** What candidates know of the lock, and what follows from it. Pure. */

/** The lock's content, whatever object carries it. */
export interface LeaderRecord {
  /** Empty when nobody holds it. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds. Instants of the holder's clock: never compared with another clock. */
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly leaderTransitions: number;
}

/** A record together with the local instant at which it was first seen, so that clock skew does no harm. */
export interface Observation {
  readonly record: LeaderRecord;
  /** Monotonic milliseconds. */
  readonly seenAtMs: number;
}

/** The observation after `record` was read at `nowMs`: an unchanged record keeps the instant of its first sight. */
export function observe(previous: Observation | undefined, record: LeaderRecord, nowMs: number): Observation {
  return previous !== undefined && sameRecord(previous.record, record) ? previous : { record, seenAtMs: nowMs };
}

export type Decision =
  /** Somebody else holds it and it has not run out. */
  | { readonly kind: 'wait'; readonly expiresInMs: number }
  /** Ours already, or free, or run out. */
  | { readonly kind: 'write'; readonly record: LeaderRecord };

export interface Candidate {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** The lock frees itself: what somebody else holds is never taken, however long it was seen unchanged. */
  readonly selfExpiring?: boolean;
  /** A record of ours is of an earlier term, which is over: this is the beginning of another one. */
  readonly anew?: boolean;
}

/** Whether the lock still shows the term that began with `term`. */
export function sameTerm(term: LeaderRecord, record: LeaderRecord | undefined): boolean {
  return (
    record?.holderIdentity === term.holderIdentity &&
    record.leaderTransitions === term.leaderTransitions &&
    record.acquireTime === term.acquireTime
  );
}

/** What the candidate does about what it has observed. `time`: the candidate's clock as it goes into the record. */
export function decide(
  candidate: Candidate,
  observation: Observation | undefined,
  now: { readonly monotonicMs: number; readonly time: string },
): Decision {
  const { identity, leaseDurationMs, selfExpiring = false, anew = false } = candidate;
  const leaseDurationSeconds = Math.ceil(leaseDurationMs / 1000);
  const fresh = { holderIdentity: identity, leaseDurationSeconds, renewTime: now.time };
  if (observation === undefined) {
    return { kind: 'write', record: { ...fresh, acquireTime: now.time, leaderTransitions: 0 } };
  }
  const { record, seenAtMs } = observation;
  if (record.holderIdentity === identity) {
    const { leaderTransitions } = record;
    const acquireTime = anew ? now.time : record.acquireTime;
    return { kind: 'write', record: { ...fresh, acquireTime, leaderTransitions } };
  }
  const expiresInMs = seenAtMs + leaseDurationMs - now.monotonicMs;
  if (record.holderIdentity !== '' && (selfExpiring || expiresInMs > 0)) return { kind: 'wait', expiresInMs };
  const leaderTransitions = record.leaderTransitions + 1;
  return { kind: 'write', record: { ...fresh, acquireTime: now.time, leaderTransitions } };
}

/** The record that a leader leaves behind when it goes: free at once, as in client-go. */
export function released(record: LeaderRecord, time: string): LeaderRecord {
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
