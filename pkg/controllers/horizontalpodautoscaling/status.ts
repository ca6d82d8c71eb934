/** The status of autoscalers and its conditions, in the words of release 1.24. Pure. */
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from '#api/autoscaling/v2/types.gen.js';
import { setCondition } from '#api/meta/v1/condition/conditions.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Words } from '#controllers/horizontalpodautoscaling/behavior.js';
import type { Proposal, Refusal } from '#controllers/horizontalpodautoscaling/proposal.js';

/** The size of what is scaled. */
export interface Size {
  /** Wanted. */
  readonly replicas: number;
  /** Present. */
  readonly statusReplicas: number;
  /** Of the pods, as text; empty where the target has none. */
  readonly selector: string;
}

export type Conditions = readonly HorizontalPodAutoscalerCondition[];

interface ConditionWords extends Words {
  readonly type: 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';
  readonly status: 'True' | 'False';
}

/** Instants in ms: `now` since the epoch, `nowMs` monotonic. */
export interface Moment {
  readonly now: number;
  readonly nowMs: number;
}

/** The status when the target's size could not be asked for. */
export function unscalable(
  { status }: HorizontalPodAutoscaler,
  message: string,
  moment: Moment,
): HorizontalPodAutoscalerStatus {
  const conditions = withConditions(status?.conditions, moment, {
    type: 'AbleToScale',
    status: 'False',
    reason: 'FailedGetScale',
    message: `the HPA controller was unable to get the target's current scale: ${message}`,
  });
  return { desiredReplicas: 0, ...status, conditions: [...conditions] };
}

/** The status when nothing could be decided, or not be done: what was measured before stays. */
export function unfinished(
  { status }: HorizontalPodAutoscaler,
  { replicas }: Size,
  conditions: Conditions,
): HorizontalPodAutoscalerStatus {
  return statusOf({
    lastScaleTime: status?.lastScaleTime,
    currentReplicas: replicas,
    desiredReplicas: status?.desiredReplicas ?? 0,
    // Servers write null where there are none.
    currentMetrics: status?.currentMetrics ?? undefined,
    conditions,
  });
}

interface Outcome {
  readonly rescale?: { readonly replicas: number };
  readonly conditions: Conditions;
  readonly metrics?: readonly MetricStatus[];
}

/** The status when the size is as decided. */
export function finished(
  { status }: HorizontalPodAutoscaler,
  { replicas }: Size,
  { rescale, conditions, metrics }: Outcome,
  moment: Moment,
): HorizontalPodAutoscalerStatus {
  const done = rescale === undefined ? conditions : withConditions(conditions, moment, rescaled(rescale.replicas));
  return statusOf({
    lastScaleTime: rescale === undefined ? status?.lastScaleTime : formatTime(moment.now),
    currentReplicas: replicas,
    desiredReplicas: rescale?.replicas ?? replicas,
    currentMetrics: metrics,
    conditions: done,
  });
}

/** The conditions when the new size was not taken. */
export function notRescaled(conditions: Conditions, message: string, moment: Moment): Conditions {
  return withConditions(conditions, moment, {
    type: 'AbleToScale',
    status: 'False',
    reason: 'FailedUpdateScale',
    message: `the HPA controller was unable to update the target scale: ${message}`,
  });
}

/** Only what is there; observedGeneration is not set, as in 1.24. */
function statusOf(fields: {
  readonly lastScaleTime: string | undefined;
  readonly currentReplicas: number;
  readonly desiredReplicas: number;
  readonly currentMetrics: readonly MetricStatus[] | undefined;
  readonly conditions: Conditions;
}): HorizontalPodAutoscalerStatus {
  const { lastScaleTime, currentReplicas, desiredReplicas, currentMetrics, conditions } = fields;
  return {
    ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
    currentReplicas,
    desiredReplicas,
    ...(currentMetrics === undefined ? {} : { currentMetrics: [...currentMetrics] }),
    conditions: [...conditions],
  };
}

export function withConditions(
  conditions: Conditions | undefined,
  { now }: Moment,
  ...words: ConditionWords[]
): Conditions {
  let all: Conditions = conditions ?? [];
  for (const { type, status, reason, message } of words) {
    all = setCondition(all, { type, status, reason, message }, formatTime(now));
  }
  return all;
}

export const foundScale: ConditionWords = {
  type: 'AbleToScale',
  status: 'True',
  reason: 'SucceededGetScale',
  message: "the HPA controller was able to get the target's current scale",
};

export const disabled: ConditionWords = {
  type: 'ScalingActive',
  status: 'False',
  reason: 'ScalingDisabled',
  message: 'scaling is disabled since the replica count of the target is zero',
};

function rescaled(replicas: number): ConditionWords {
  return {
    type: 'AbleToScale',
    status: 'True',
    reason: 'SucceededRescale',
    message: `the HPA controller was able to update the target scale to ${replicas}`,
  };
}

export function active({ name }: Proposal): ConditionWords {
  return {
    type: 'ScalingActive',
    status: 'True',
    reason: 'ValidMetricFound',
    message: `the HPA was able to successfully calculate a replica count from ${name}`,
  };
}

export function refused({ reason, message }: Refusal): ConditionWords {
  return {
    type: 'ScalingActive',
    status: 'False',
    reason,
    message: `the HPA was unable to compute the replica count: ${message}`,
  };
}
