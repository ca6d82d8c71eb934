/** What an etcd needs at the moment: a pure decision, one step at a time. */
import type { EtcdAlarm } from '#etcd-admin/admin.js';

export interface SeenMember {
  readonly id: string;
  readonly name: string;
  /** Where it answered. */
  readonly endpoint: string;
  readonly sizeBytes: number;
  readonly usedBytes: number;
  readonly appliedIndex: number;
  readonly isLeader: boolean;
  readonly isLearner: boolean;
  /** Defragmented since history was last forgotten: its size is what is in use. */
  readonly isFresh: boolean;
}

export interface SeenEtcd {
  /** Those that answered. */
  readonly members: readonly SeenMember[];
  /** How many there are. */
  readonly size: number;
  readonly alarms: readonly EtcdAlarm[];
  /** Nothing was written since history was last forgotten. */
  readonly isForgotten: boolean;
  /** Size at which writes are refused, bytes. */
  readonly quotaBytes: number;
}

export type UpkeepStep =
  /** Old versions are what takes the room, and nobody can write any more. */
  | { readonly type: 'forget' }
  | { readonly type: 'defragment'; readonly member: SeenMember }
  /** The leader hands over, and can be defragmented next time. */
  | { readonly type: 'moveLeader'; readonly from: SeenMember; readonly to: SeenMember }
  /** There is room again, but etcd refuses writes until it is told so. */
  | { readonly type: 'disarm'; readonly alarms: readonly EtcdAlarm[] }
  /** All room is in use: only its users can make some. */
  | { readonly type: 'full'; readonly member: SeenMember }
  | { readonly type: 'nothing' };

/** Less than this given back is not worth the time in which a member does not answer. */
const worthBytes = 64 * 1024 * 1024;
/** A database that is less in use than this is defragmented. */
const sparse = 0.5;
/** Below this share of the quota there is room again. */
const roomy = 0.9;
/** Entries of the log that a member may be behind and still count as one that has caught up. */
const maxLag = 1000;

/** Whether there may be anything to do for a member whose database has this size. */
export function mayNeedUpkeep(sizeBytes: number, quotaBytes: number): boolean {
  return sizeBytes >= Math.min(worthBytes, quotaBytes * sparse);
}

/**
 * One member at a time, followers first, and only while all others are there: a cluster that lacks a member already would
 * lose its quorum. The leader hands over before its turn comes, where there is anybody.
 */
export function upkeepStep(seen: SeenEtcd): UpkeepStep {
  const { members, quotaBytes } = seen;
  const noSpace = seen.alarms.filter(({ type }) => type === 'NOSPACE');
  const room = quotaBytes * roomy;
  const pressed = noSpace.length > 0;
  if (pressed && !seen.isForgotten) return { type: 'forget' };
  // What is in use is not known for sure while hardly anything is written: freed pages are counted late.
  const needy = members.filter((member) => isSparse(member) || (pressed && member.sizeBytes > room && !member.isFresh));
  if (needy.length > 0 && mayMiss(seen)) {
    const follower = needy.find(({ isLeader }) => !isLeader);
    if (follower !== undefined) return { type: 'defragment', member: follower };
    const [leader] = needy;
    if (leader !== undefined) {
      const heir = members.find(({ isLeader, isLearner }) => !isLeader && !isLearner);
      return heir === undefined
        ? { type: 'defragment', member: leader }
        : { type: 'moveLeader', from: leader, to: heir };
    }
  }
  if (!pressed) return { type: 'nothing' };
  const full = members.find(({ sizeBytes }) => sizeBytes > room);
  if (full !== undefined) return { type: 'full', member: full };
  // A member that is not seen may be the one that is full.
  return members.length === seen.size ? { type: 'disarm', alarms: noSpace } : { type: 'nothing' };
}

function isSparse({ sizeBytes, usedBytes }: SeenMember): boolean {
  return sizeBytes - usedBytes >= worthBytes && usedBytes < sizeBytes * sparse;
}

/** Whether one member may be away for a while: nobody else is, or lags behind. A single one has nobody to wait for. */
function mayMiss({ members, size }: SeenEtcd): boolean {
  if (members.length < size) return false;
  const newest = Math.max(...members.map(({ appliedIndex }) => appliedIndex));
  return members.every(({ appliedIndex }) => newest - appliedIndex <= maxLag);
}
