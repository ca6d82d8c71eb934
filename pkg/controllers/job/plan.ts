/** Plans which pods a job creates or deletes, and whether it has failed. Pure. */
import type { Job } from '#api/batch/v1/types.gen.js';
import { getPodCondition } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { parseTime } from '#apimachinery/clock.js';
import type { JobCounts, JobObservation } from '#controllers/job/counts.js';
import { completionIndex, hasIndex, isIndexed, pendingIndexes } from '#controllers/job/indexes.js';
import { isTrackedPod } from '#controllers/job/tracking.js';
import { plainRanking, podsToDelete } from '#controllers/replicaset/ranking.js';

/** The maximum of pods created or deleted in one reconcile, as in 1.24. */
const burst = 500;

/** With the messages of 1.24. */
export interface JobFailure {
  readonly reason: 'BackoffLimitExceeded' | 'DeadlineExceeded';
  readonly message: string;
}

export type PodAction =
  /** One pod per index; undefined indexes for a job without indexes. */
  | { readonly kind: 'create'; readonly indexes: readonly (number | undefined)[] }
  /** `uncounted`: the pods do not count as failures. */
  | { readonly kind: 'delete'; readonly pods: readonly Pod[]; readonly uncounted: boolean };

export interface JobPlan {
  readonly failure?: JobFailure;
  readonly action?: PodAction;
  /** Whether the number of pods was checked. */
  readonly managed: boolean;
  /** When the next deadline or backoff ends. */
  readonly requeueAfterMs?: number;
}

export function isSuspended(job: Job): boolean {
  return job.spec.suspend === true;
}

/** Whether its status says that it is suspended. */
function wasSuspended({ status }: Job): boolean {
  return isConditionTrue(status?.conditions, 'Suspended');
}

export function planJob(observation: JobObservation, counts: JobCounts, now: number): JobPlan {
  const { job } = observation;
  const failure = planFailure(observation, counts, now);
  if (failure !== undefined) {
    const { active } = counts;
    if (active.length === 0) return { failure, managed: false };
    return { failure, managed: false, action: { kind: 'delete', pods: active, uncounted: false } };
  }
  const deadlineMs = deadlineInMs(job, now);
  const due = deadlineMs === undefined ? {} : { requeueAfterMs: deadlineMs };
  if (job.metadata.deletionTimestamp !== undefined) return { managed: false, ...due };
  const excess = surplus(observation, counts, now).slice(0, burst);
  if (excess.length > 0) return { managed: true, action: { kind: 'delete', pods: excess, uncounted: true }, ...due };
  const missing = Math.min(desiredActive(job, counts) - counts.active.length, burst);
  if (missing <= 0) return { managed: true, ...due };
  const until = backoffUntil(observation.pods, now);
  if (until > now)
    return { managed: true, requeueAfterMs: Math.min(until - now, deadlineMs ?? Number.POSITIVE_INFINITY) };
  const indexes = nextIndexes(observation, counts, missing);
  return { managed: true, ...(indexes.length === 0 ? {} : { action: { kind: 'create', indexes } }), ...due };
}

function planFailure({ job, pods }: JobObservation, { failed }: JobCounts, now: number): JobFailure | undefined {
  const limit = job.spec.backoffLimit ?? 6;
  if (failed > limit || restartsExceed(job, pods, limit)) {
    return { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  }
  const deadlineMs = deadlineInMs(job, now);
  if (deadlineMs === undefined || deadlineMs > 0) return undefined;
  return { reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
}

/** Container restarts count as failures. */
function restartsExceed(job: Job, pods: readonly Pod[], limit: number): boolean {
  if (job.spec.template.spec?.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const { status } of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue;
    for (const { restartCount } of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
      restarts += restartCount;
    }
  }
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** Milliseconds until the deadline; undefined without a deadline or while suspended. */
function deadlineInMs(job: Job, now: number): number | undefined {
  const { activeDeadlineSeconds } = job.spec;
  if (activeDeadlineSeconds === undefined || isSuspended(job)) return undefined;
  const { startTime } = job.status ?? {};
  // The deadline starts again when a job resumes.
  const startMs = startTime === undefined || wasSuspended(job) ? now : parseTime(startTime);
  return startMs + Number(activeDeadlineSeconds) * 1000 - now;
}

function desiredActive(job: Job, { active, succeeded }: JobCounts): number {
  if (isSuspended(job)) return 0;
  const parallelism = job.spec.parallelism ?? 1;
  const { completions } = job.spec;
  // Without `completions`, the job completes after the first success, when the other pods are finished.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded));
}

/** Active pods to delete: with a missing, finished or duplicate index, without finalizer, or beyond parallelism. */
function surplus(observation: JobObservation, counts: JobCounts, now: number): Pod[] {
  const { dialect, job, tracked } = observation;
  const { active, done } = counts;
  const choice = { dialect, now, ranking: plainRanking };
  const removed = new Set<Pod>();
  // The deletion of a pod without finalizer was interrupted; the pod cannot be counted.
  if (tracked) for (const pod of active) if (!isTrackedPod(dialect, pod)) removed.add(pod);
  if (isIndexed(job)) {
    const byIndex = new Map<number, Pod[]>();
    for (const pod of active.filter((each) => !removed.has(each))) {
      const index = completionIndex(dialect, job, pod);
      if (index === undefined || hasIndex(done, index)) removed.add(pod);
      else byIndex.set(index, [...(byIndex.get(index) ?? []), pod]);
    }
    for (const duplicates of byIndex.values()) {
      for (const pod of podsToDelete(duplicates, { ...choice, count: duplicates.length - 1 })) removed.add(pod);
    }
  }
  const left = active.filter((pod) => !removed.has(pod));
  const excess = left.length - desiredActive(job, { ...counts, active: left });
  return [...removed, ...podsToDelete(left, { ...choice, count: Math.max(0, excess) })];
}

function nextIndexes({ dialect, job }: JobObservation, { active, done }: JobCounts, count: number) {
  if (!isIndexed(job)) return Array.from({ length: count }, () => undefined);
  const activeIndexes = new Set(active.flatMap((pod) => completionIndex(dialect, job, pod) ?? []));
  return pendingIndexes(done, activeIndexes, { count, completions: job.spec.completions ?? 0 });
}

const initialMs = 10_000;
const maxMs = 360_000;

/**
 * The instant (ms) before which no failed pod is replaced; 0 without backoff. Computed from the pods: 10 seconds after
 * the first failure, doubled with each further failure up to 6 minutes, reset by a success. Pure.
 */
function backoffUntil(pods: readonly Pod[], now: number): number {
  let lastSuccessMs = 0;
  const failures: number[] = [];
  for (const pod of pods) {
    const phase = pod.status?.phase;
    if (phase === 'Succeeded') lastSuccessMs = Math.max(lastSuccessMs, finishedMs(pod));
    // Ignore pods that a client deletes.
    else if (phase === 'Failed' && pod.metadata.deletionTimestamp === undefined) failures.push(finishedMs(pod));
  }
  const row = failures.filter((ms) => ms > lastSuccessMs);
  if (row.length === 0) return 0;
  // A failure in the future is caused by clock changes; treat it as now.
  const last = Math.min(Math.max(...row), now);
  const until = last + exponentialDelayMs(row.length - 1, initialMs, maxMs);
  return until > now ? until : 0;
}

/** The best estimate of when the pod finished (ms); 0 when unknown. */
function finishedMs(pod: Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated?.finishedAt ?? []);
  if (ends.length > 0) return Math.max(...ends.map(milliseconds));
  const ready = getPodCondition(pod.status, 'Ready');
  const unready = ready?.status === 'False' ? ready.lastTransitionTime : undefined;
  return milliseconds(unready ?? pod.metadata.creationTimestamp);
}

function milliseconds(time: string | undefined): number {
  const ms = time === undefined ? Number.NaN : parseTime(time);
  return Number.isNaN(ms) ? 0 : ms;
}
