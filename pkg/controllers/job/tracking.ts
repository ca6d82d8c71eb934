/**
 * Counting a job's pods once and only once, with a finalizer on each pod and a list of identities in the status.
 *
 * Flow: 1. ended pods that carry the finalizer are written down in `status.uncountedTerminatedPods` (of indexed jobs,
 * a success is written down as its index); 2. their finalizers are removed; 3. identities without finalizer leave the
 * list, and the counters grow by as many. Whoever dies in between leaves a state from which the next one goes on.
 * Guarantees: a pod cannot vanish before it is written down, and nothing is counted twice.
 * Assumptions: no pod is read as it was before its finalizer was removed; a status is written on top of the version it
 * was made from only. Rules and order of release 1.24.
 */

import type { Job, JobStatus } from '#api/batch/v1/types.gen.js';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  completionIndex,
  countIndexes,
  formatIndexes,
  hasIndex,
  isIndexed,
  parseIndexes,
  withIndexes,
} from '#controllers/job/indexes.js';

/** Most identities that a status holds (20 KB), and most finalizers removed in one pass: 1.24's bound. */
const maxUncounted = 500;

/** True when the job was made to be counted so. */
export function isTrackedJob(dialect: Dialect, job: Job): boolean {
  return job.metadata.annotations?.[dialect.jobTracking] !== undefined;
}

/** True when the pod carries the finalizer that keeps it until it is counted. */
export function isTrackedPod(dialect: Dialect, pod: Pod): boolean {
  return pod.metadata.finalizers?.includes(dialect.jobTracking) ?? false;
}

/** Takes the finalizer off a pod; does nothing when it has none. */
export function untrackPatch(dialect: Dialect, { metadata }: Pod): object {
  // The uid makes it fail when another pod has taken the name.
  return { metadata: { uid: metadata.uid, '$deleteFromPrimitiveList/finalizers': [dialect.jobTracking] } };
}

export interface Tracking {
  readonly dialect: Dialect;
  readonly job: Job;
  readonly pods: readonly Pod[];
  /** The job is about to be finished: pods that still run will count as failed. */
  readonly finishing: boolean;
}

export interface WrittenDown {
  readonly status: JobStatus;
  /** Pods to take the finalizer off once the status is written. */
  readonly release: readonly Pod[];
}

/** Steps 3 (for what earlier passes left) and 1. */
export function writeDown(tracking: Tracking): WrittenDown {
  const { dialect, job, finishing } = tracking;
  const tracked = tracking.pods.filter((pod) => isTrackedPod(dialect, pod));
  const counted = countReleased(job.status ?? {}, new Set(tracked.map(uidOf)));
  const indexed = isIndexed(job);
  const completions = job.spec.completions ?? 0;
  const done = parseIndexes(counted.completedIndexes, completions);
  const succeeded = new Set(counted.uncountedTerminatedPods?.succeeded);
  const failed = new Set(counted.uncountedTerminatedPods?.failed);
  const newIndexes = new Set<number>();
  const release: Pod[] = [];
  const jobDeleted = job.metadata.deletionTimestamp !== undefined;
  const indexOf = (pod: Pod) => completionIndex(dialect, job, pod);
  // In the order of the indexes, so that those done grow from below.
  const inOrder = indexed ? [...tracked].sort((a, b) => (indexOf(a) ?? -1) - (indexOf(b) ?? -1)) : tracked;
  for (const pod of inOrder) {
    const stopping = pod.metadata.deletionTimestamp !== undefined || finishing;
    if (isPodTerminal(pod) || stopping || jobDeleted) release.push(pod);
    const index = indexed ? indexOf(pod) : undefined;
    if (pod.status?.phase === 'Succeeded') {
      if (!indexed) succeeded.add(uidOf(pod));
      else if (index !== undefined && !hasIndex(done, index)) newIndexes.add(index);
    } else if (pod.status?.phase === 'Failed' || stopping) {
      if (!indexed || index !== undefined) failed.add(uidOf(pod));
    }
    if (newIndexes.size + succeeded.size + failed.size >= maxUncounted) break;
  }
  const status = withUncounted(counted, [...succeeded], [...failed]);
  if (newIndexes.size === 0) return { status, release };
  const now = withIndexes(done, newIndexes);
  return { status: { ...status, succeeded: countIndexes(now), completedIndexes: formatIndexes(now) }, release };
}

/** Step 3: what is written down and has no finalizer any more is counted. `tracked`: UIDs of the pods that have one. */
export function countReleased(status: JobStatus, tracked: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const stillSucceeded = succeeded.filter((uid) => tracked.has(uid));
  const stillFailed = failed.filter((uid) => tracked.has(uid));
  return {
    ...withUncounted(status, stillSucceeded, stillFailed),
    ...grown('succeeded', status.succeeded, succeeded.length - stillSucceeded.length),
    ...grown('failed', status.failed, failed.length - stillFailed.length),
  };
}

function grown(counter: 'succeeded' | 'failed', old: number | undefined, by: number): JobStatus {
  return by === 0 ? {} : { [counter]: (old ?? 0) + by };
}

function withUncounted(status: JobStatus, succeeded: string[], failed: string[]): JobStatus {
  const uncountedTerminatedPods = {
    ...(succeeded.length === 0 ? {} : { succeeded }),
    ...(failed.length === 0 ? {} : { failed }),
  };
  return { ...status, uncountedTerminatedPods };
}

/** True when every pod that was written down has been counted. */
export function allCounted({ uncountedTerminatedPods }: JobStatus): boolean {
  return (uncountedTerminatedPods?.succeeded ?? []).length + (uncountedTerminatedPods?.failed ?? []).length === 0;
}

export function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? '';
}
