/** Which pods a job needs made or deleted, and whether it has failed. Pure. */
import type { Job } from '#api/batch/v1/types.gen.js';
import { getPodCondition } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { parseTime } from '#apimachinery/clock.js';
import type { JobCounts, JobObservation } from '#controllers/job/counts.js';
import { completionIndex, hasIndex, isIndexed, pendingIndexes } from '#controllers/job/indexes.js';
import { isTrackedPod } from '#controllers/job/tracking.js';
import { podsToDelete } from '#controllers/replicaset/ranking.js';

/** Pods created or deleted in one pass at most, as in 1.24. */
const burst = 500;

/** Why a job has failed, in the words of 1.24. */
export interface JobFailure {
  readonly reason: 'BackoffLimitExceeded' | 'DeadlineExceeded';
  readonly message: string;
}

export type PodAction =
  /** One pod for each index; of a job without indexes they are all undefined. */
  | { readonly kind: 'create'; readonly indexes: readonly (number | undefined)[] }
  /** `uncounted`: they are no failures of the job. */
  | { readonly kind: 'delete'; readonly pods: readonly Pod[]; readonly uncounted: boolean };

export interface JobPlan {
  readonly failure?: JobFailure;
  readonly action?: PodAction;
  /** The number of pods was looked after. */
  readonly managed: boolean;
  /** When something becomes due without any event. */
  readonly requeueAfterMs?: number;
}

export function isSuspended(job: Job): boolean {
  return job.spec.suspend === true;
}

/** It says of itself that it is suspended. */
function wasSuspended({ status }: Job): boolean {
  return isConditionTrue(status?.conditions, 'Suspended');
}

/** `now` in milliseconds. */
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
  const missing = Math.min(wantedActive(job, counts) - counts.active.length, burst);
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

/** Containers that are restarted in their pods fail, too. */
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

/** Milliseconds until the job has been active too long; undefined without a deadline, or while it does not run. */
function deadlineInMs(job: Job, now: number): number | undefined {
  const { activeDeadlineSeconds } = job.spec;
  if (activeDeadlineSeconds === undefined || isSuspended(job)) return undefined;
  const { startTime } = job.status ?? {};
  // A job that goes on after a suspension starts anew.
  const startMs = startTime === undefined || wasSuspended(job) ? now : parseTime(startTime);
  return startMs + Number(activeDeadlineSeconds) * 1000 - now;
}

function wantedActive(job: Job, { active, succeeded }: JobCounts): number {
  if (isSuspended(job)) return 0;
  const parallelism = job.spec.parallelism ?? 1;
  const { completions } = job.spec;
  // Without a number of completions, the first success ends the job once the others have ended.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded));
}

/** Active pods that must go: those of no or somebody else's index, those that could not be counted, and too many. */
function surplus(observation: JobObservation, counts: JobCounts, now: number): Pod[] {
  const { dialect, job, tracked } = observation;
  const { active, done } = counts;
  const removed = new Set<Pod>();
  // Its deletion was begun: without its finalizer, nothing would keep it until it is counted.
  if (tracked) for (const pod of active) if (!isTrackedPod(dialect, pod)) removed.add(pod);
  if (isIndexed(job)) {
    const byIndex = new Map<number, Pod[]>();
    for (const pod of active.filter((each) => !removed.has(each))) {
      const index = completionIndex(dialect, job, pod);
      if (index === undefined || hasIndex(done, index)) removed.add(pod);
      else byIndex.set(index, [...(byIndex.get(index) ?? []), pod]);
    }
    for (const rivals of byIndex.values()) {
      for (const pod of podsToDelete(dialect, rivals, [], rivals.length - 1, now)) removed.add(pod);
    }
  }
  const left = active.filter((pod) => !removed.has(pod));
  const excess = left.length - wantedActive(job, { ...counts, active: left });
  return [...removed, ...podsToDelete(dialect, left, [], Math.max(0, excess), now)];
}

function nextIndexes({ dialect, job }: JobObservation, { active, done }: JobCounts, count: number) {
  if (!isIndexed(job)) return Array.from({ length: count }, () => undefined);
  const taken = new Set(active.flatMap((pod) => completionIndex(dialect, job, pod) ?? []));
  return pendingIndexes(done, taken, { count, completions: job.spec.completions ?? 0 });
}

const initialMs = 10_000;
const maxMs = 360_000;

/**
 * The instant (ms) before which no pod is made in the place of one that failed; 0 when there is nothing to wait for.
 * Read off the pods alone: 10 seconds after the first failure, doubled with each further one up to 6 minutes; a success
 * ends the row of failures. Pure.
 */
function backoffUntil(pods: readonly Pod[], now: number): number {
  let lastSuccessMs = 0;
  const failures: number[] = [];
  for (const pod of pods) {
    const phase = pod.status?.phase;
    if (phase === 'Succeeded') lastSuccessMs = Math.max(lastSuccessMs, finishedMs(pod));
    // A pod that a client deletes did not fail by itself.
    else if (phase === 'Failed' && pod.metadata.deletionTimestamp === undefined) failures.push(finishedMs(pod));
  }
  const row = failures.filter((ms) => ms > lastSuccessMs);
  if (row.length === 0) return 0;
  // A failure that is still to come: some clock was set. It counts as one of now.
  const last = Math.min(Math.max(...row), now);
  const until = last + exponentialDelayMs(row.length - 1, initialMs, maxMs);
  return until > now ? until : 0;
}

/** When the pod ended, as well as can be told (ms); 0 when nothing tells. */
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
