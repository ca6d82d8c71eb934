/** Decides the next maintenance step of an etcd. Pure. */
import type { EtcdAlarm } from '#etcd-admin/admin.js';

export interface ObservedMember {
  readonly id: string;
  readonly name: string;
  /** Address of its answer. */
  readonly endpoint: string;
  readonly sizeBytes: number;
  readonly usedBytes: number;
  readonly appliedIndex: number;
  readonly isLeader: boolean;
  readonly isLearner: boolean;
  /** Defragmented since the last compaction: its size is its used size. */
  readonly isFresh: boolean;
}

export interface ObservedEtcd {
  /** Members that answered. */
  readonly members: readonly ObservedMember[];
  /** Number of all members. */
  readonly size: number;
  readonly alarms: readonly EtcdAlarm[];
  /** No write since the last compaction. */
  readonly isCompacted: boolean;
  /** Size at which writes are refused, bytes. */
  readonly quotaBytes: number;
}

export type UpkeepStep =
  /** Removes old versions, which may fill the store, while writes are refused. */
  | { readonly type: 'compact' }
  | { readonly type: 'defragment'; readonly member: ObservedMember }
  /** Moves the leadership away, so that the former leader can be defragmented next. */
  | { readonly type: 'moveLeader'; readonly from: ObservedMember; readonly to: ObservedMember }
  /** Clears the alarms: there is free space again, but etcd refuses writes until then. */
  | { readonly type: 'disarm'; readonly alarms: readonly EtcdAlarm[] }
  /** The store is full of current objects; users must delete some. */
  | { readonly type: 'full'; readonly member: ObservedMember }
  | { readonly type: 'nothing' };

/** Smallest gain for which a member may pause. */
const worthBytes = 64 * 1024 * 1024;
/** A database with a smaller used share is defragmented. */
const sparse = 0.5;
/** Below this share of the quota the store has free space. */
const roomy = 0.9;
/** Largest lag, in log entries, of a member that counts as caught up. */
const maxLag = 1000;

/** Whether a member with a database of this size may need maintenance. */
export function mayNeedUpkeep(sizeBytes: number, quotaBytes: number): boolean {
  return sizeBytes >= Math.min(worthBytes, quotaBytes * sparse);
}

/**
 * Defragments one member at a time, followers first, and only while all members answer, to keep the quorum. Moves the
 * leadership to another voter before the leader's turn.
 */
export function upkeepStep(observed: ObservedEtcd): UpkeepStep {
  const { members, quotaBytes } = observed;
  const noSpace = observed.alarms.filter(({ type }) => type === 'NOSPACE');
  const room = quotaBytes * roomy;
  const isFull = noSpace.length > 0;
  if (isFull && !observed.isCompacted) return { type: 'compact' };
  // The used size is inexact while there are few writes: freed pages are counted late.
  const needy = members.filter((member) => isSparse(member) || (isFull && member.sizeBytes > room && !member.isFresh));
  if (needy.length > 0 && mayPauseMember(observed)) {
    const follower = needy.find(({ isLeader }) => !isLeader);
    if (follower !== undefined) return { type: 'defragment', member: follower };
    const [leader] = needy;
    if (leader !== undefined) {
      const successor = members.find(({ isLeader, isLearner }) => !isLeader && !isLearner);
      return successor === undefined
        ? { type: 'defragment', member: leader }
        : { type: 'moveLeader', from: leader, to: successor };
    }
  }
  if (!isFull) return { type: 'nothing' };
  const full = members.find(({ sizeBytes }) => sizeBytes > room);
  if (full !== undefined) return { type: 'full', member: full };
  // A member that does not answer may be full.
  return members.length === observed.size ? { type: 'disarm', alarms: noSpace } : { type: 'nothing' };
}

function isSparse({ sizeBytes, usedBytes }: ObservedMember): boolean {
  return sizeBytes - usedBytes >= worthBytes && usedBytes < sizeBytes * sparse;
}

/** Whether a member may pause: all members answer and have caught up. */
function mayPauseMember({ members, size }: ObservedEtcd): boolean {
  if (members.length < size) return false;
  const newest = Math.max(...members.map(({ appliedIndex }) => appliedIndex));
  return members.every(({ appliedIndex }) => newest - appliedIndex <= maxLag);
}
