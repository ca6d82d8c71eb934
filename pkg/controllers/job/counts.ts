/** Counts a job's active, succeeded and failed pods. Pure. */

import type { Job } from '#api/batch/v1/types.gen.js';
import { isPodActive } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  completionIndex,
  countIndexes,
  type IndexSet,
  isIndexed,
  parseIndexes,
  withIndexes,
} from '#controllers/job/indexes.js';
import { isTrackedPod, uidOf } from '#controllers/job/tracking.js';

export interface JobObservation {
  readonly dialect: Dialect;
  readonly job: Job;
  /** All pods of the job, including finished ones. */
  readonly pods: readonly Pod[];
  /** Whether the pods are counted with finalizers. */
  readonly tracked: boolean;
}

export interface JobCounts {
  readonly active: readonly Pod[];
  readonly succeeded: number;
  readonly failed: number;
  /** Succeeded indexes of an indexed job. */
  readonly done: IndexSet;
}

export function countPods(observation: JobObservation): JobCounts {
  const { dialect, job, pods, tracked } = observation;
  const active = pods.filter(isPodActive);
  const indexed = isIndexed(job);
  const counting = pods.filter((pod) => !indexed || completionIndex(dialect, job, pod) !== undefined);
  const { succeeded, failed } = tracked ? trackedCounts(observation, counting) : presentCounts(counting);
  if (!indexed) return { active, succeeded, failed, done: [] };
  // With finalizers, a succeeded index stays in the status after its pod is deleted.
  const before = tracked ? parseIndexes(job.status?.completedIndexes, job.spec.completions ?? 0) : [];
  const added = counting.filter((pod) => pod.status?.phase === 'Succeeded' && (!tracked || isTrackedPod(dialect, pod)));
  const done = withIndexes(
    before,
    added.map((pod) => completionIndex(dialect, job, pod) ?? 0),
  );
  return { active, succeeded: countIndexes(done), failed, done };
}

function presentCounts(pods: readonly Pod[]): { succeeded: number; failed: number } {
  const count = (phase: string) => pods.filter((pod) => pod.status?.phase === phase).length;
  return { succeeded: count('Succeeded'), failed: count('Failed') };
}

function trackedCounts(observation: JobObservation, pods: readonly Pod[]): { succeeded: number; failed: number } {
  const { dialect, job } = observation;
  const status = job.status ?? {};
  const succeeded = new Set(status.uncountedTerminatedPods?.succeeded);
  const failed = new Set(status.uncountedTerminatedPods?.failed);
  for (const pod of pods) {
    if (!isTrackedPod(dialect, pod)) continue;
    if (pod.status?.phase === 'Succeeded') succeeded.add(uidOf(pod));
    // A pod being deleted may never reach the phase Failed.
    else if (pod.status?.phase === 'Failed' || pod.metadata.deletionTimestamp !== undefined) failed.add(uidOf(pod));
  }
  return { succeeded: (status.succeeded ?? 0) + succeeded.size, failed: (status.failed ?? 0) + failed.size };
}
