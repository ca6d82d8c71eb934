/**
 * Counts each pod of a job exactly once, with a finalizer on each pod and a list of UIDs in the status.
 *
 * Flow: 1. finished pods with the finalizer are recorded in `status.uncountedTerminatedPods` (successes of indexed jobs
 * by their index); 2. their finalizers are removed; 3. UIDs without finalizer leave the list, and the counters grow by
 * their number. After a crash in between, the next leader continues.
 * Guarantees: a pod does not vanish before it is recorded, and no pod is counted twice.
 * Assumptions: pods are not read from before their finalizer was removed; a status update fails if the job has changed
 * since it was read. Rules and order of release 1.24.
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

/** The maximum of UIDs in a status (20 KB), and of finalizers removed in one reconcile, as in 1.24. */
const maxUncounted = 500;

/** Whether the job was created with tracking. */
export function isTrackedJob(dialect: Dialect, job: Job): boolean {
  return job.metadata.annotations?.[dialect.jobTracking] !== undefined;
}

/** Whether the pod has the tracking finalizer. */
export function isTrackedPod(dialect: Dialect, pod: Pod): boolean {
  return pod.metadata.finalizers?.includes(dialect.jobTracking) ?? false;
}

/** Removes the finalizer; does nothing to a pod without it. */
export function untrackPatch(dialect: Dialect, { metadata }: Pod): object {
  // The UID makes the patch fail when another pod has the name.
  return { metadata: { uid: metadata.uid, '$deleteFromPrimitiveList/finalizers': [dialect.jobTracking] } };
}

export interface Tracking {
  readonly dialect: Dialect;
  readonly job: Job;
  readonly pods: readonly Pod[];
  /** The job is finishing: running pods count as failed. */
  readonly finishing: boolean;
}

export interface Recorded {
  readonly status: JobStatus;
  /** Pods whose finalizer to remove after the status is written. */
  readonly release: readonly Pod[];
}

/** Step 3 for earlier reconciles, then step 1. */
export function recordFinished(tracking: Tracking): Recorded {
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
  // Ascending, so that the lowest indexes are recorded first.
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

/** Step 3: counts recorded pods without finalizer. `tracked`: UIDs of pods with the finalizer. */
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

/** Whether all recorded pods are counted. */
export function allCounted({ uncountedTerminatedPods }: JobStatus): boolean {
  return (uncountedTerminatedPods?.succeeded ?? []).length + (uncountedTerminatedPods?.failed ?? []).length === 0;
}

export function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? '';
}
