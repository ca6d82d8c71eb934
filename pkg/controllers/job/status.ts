/** Plans the status of a job. Pure. */

import type { Job, JobCondition, JobStatus } from '#api/batch/v1/types.gen.js';
import { isPodReady } from '#api/core/v1/pod/conditions.js';
import { getCondition, isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Replaceable } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { JobCounts, JobObservation } from '#controllers/job/counts.js';
import { formatIndexes, isIndexed } from '#controllers/job/indexes.js';
import { isSuspended, type JobFailure, type JobPlan } from '#controllers/job/plan.js';

export type JobEnd = { readonly type: 'Complete' } | ({ readonly type: 'Failed' } & JobFailure);

/** The result of the planned action. */
export interface PodOutcome {
  readonly created: number;
  readonly deleted: number;
}

export interface StatusPlan {
  /** For a tracked job without the counters, which `tracking.ts` updates. */
  readonly status: JobStatus;
  readonly end?: JobEnd;
  /** The event's reason when the job was just suspended or resumed. */
  readonly transition?: 'Suspended' | 'Resumed';
}

export interface StatusOptions {
  /** The feature gate JobReadyPods. */
  readonly readyPods: boolean;
}

export function isFinished({ status }: Job): boolean {
  return isConditionTrue(status?.conditions, 'Complete') || isConditionTrue(status?.conditions, 'Failed');
}

export function planStatus(
  observation: JobObservation,
  { counts, plan, outcome }: { readonly counts: JobCounts; readonly plan: JobPlan; readonly outcome: PodOutcome },
  { readyPods }: StatusOptions,
  now: number,
): StatusPlan {
  const { job, tracked } = observation;
  const { ready: _, uncountedTerminatedPods, ...old } = job.status ?? {};
  const active = counts.active.length + outcome.created - outcome.deleted;
  // Without finalizers, pods that were deleted with a failed job must be counted here.
  const failed = counts.failed + (plan.failure === undefined ? 0 : outcome.deleted);
  const end = planEnd(observation, counts, plan, active);
  const base: Replaceable<JobStatus> = { ...old, active };
  if (tracked) base.uncountedTerminatedPods = uncountedTerminatedPods ?? {};
  else Object.assign(base, { succeeded: counts.succeeded, failed });
  if (!tracked && isIndexed(job)) base.completedIndexes = formatIndexes(counts.done);
  if (readyPods) base.ready = counts.active.filter(isPodReady).length;
  if (!isSuspended(job)) base.startTime ??= formatTime(now);
  const transition = end === undefined && plan.managed ? suspensionChange(job) : undefined;
  if (transition === undefined) return { status: base, ...(end === undefined ? {} : { end }) };
  const suspended = transition === 'Suspended';
  const condition: JobCondition = {
    type: 'Suspended',
    status: suspended ? 'True' : 'False',
    reason: suspended ? 'JobSuspended' : 'JobResumed',
    message: suspended ? 'Job suspended' : 'Job resumed',
  };
  const conditions = withCondition(base.conditions, condition, now);
  const start = suspended ? {} : { startTime: formatTime(now) };
  return { status: { ...base, ...start, conditions }, transition };
}

function suspensionChange(job: Job): StatusPlan['transition'] {
  const condition = getCondition(job.status?.conditions, 'Suspended');
  if (isSuspended(job)) return condition?.status === 'True' ? undefined : 'Suspended';
  // Only a suspended job can be resumed.
  return condition === undefined || condition.status === 'False' ? undefined : 'Resumed';
}

function planEnd(
  { job }: JobObservation,
  { succeeded }: JobCounts,
  { failure }: JobPlan,
  active: number,
): JobEnd | undefined {
  if (failure !== undefined) {
    // Finish only when no pod runs, because finished jobs are not reconciled.
    return active > 0 ? undefined : { type: 'Failed', ...failure };
  }
  const { completions } = job.spec;
  const enough = completions === undefined ? succeeded > 0 : succeeded >= completions;
  return enough && active === 0 ? { type: 'Complete' } : undefined;
}

/** Adds the end to the status. */
export function ended(status: JobStatus, end: JobEnd, now: number): JobStatus {
  const { type, ...why } = end;
  const conditions = withCondition(status.conditions, { type, status: 'True', ...why }, now);
  return { ...status, conditions, ...(type === 'Complete' ? { completionTime: formatTime(now) } : {}) };
}

function withCondition(
  conditions: readonly JobCondition[] | undefined,
  condition: JobCondition,
  now: number,
): JobCondition[] {
  const time = formatTime(now);
  const next: JobCondition = { ...condition, lastProbeTime: time, lastTransitionTime: time };
  const list = [...(conditions ?? [])];
  const at = list.findIndex(({ type }) => type === condition.type);
  if (at < 0) list.push(next);
  else list[at] = next;
  return list;
}

/** Omitted counters and texts equal zero and empty texts. */
export function sameStatus(a: JobStatus | undefined, b: JobStatus | undefined): boolean {
  return semanticEqual(filled(a), filled(b));
}

function filled(status: JobStatus | undefined): JobStatus {
  return { active: 0, succeeded: 0, failed: 0, completedIndexes: '', uncountedTerminatedPods: {}, ...status };
}
