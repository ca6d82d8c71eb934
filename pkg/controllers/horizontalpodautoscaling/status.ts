/** The status and conditions of autoscalers, with the messages of release 1.24. Pure. */
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from '#api/autoscaling/v2/types.gen.js';
import { setCondition } from '#api/meta/v1/condition/conditions.js';
import { formatTime } from '#apimachinery/clock.js';
import type { ReasonAndMessage } from '#controllers/horizontalpodautoscaling/behavior.js';
import type { FailedReading, Proposal } from '#controllers/horizontalpodautoscaling/proposal.js';

/** The target's size. */
export interface Size {
  /** Desired replicas. */
  readonly replicas: number;
  /** Actual replicas. */
  readonly statusReplicas: number;
  /** The pods' selector; empty if the target has none. */
  readonly selector: string;
}

export type Conditions = readonly HorizontalPodAutoscalerCondition[];

interface NewCondition extends ReasonAndMessage {
  readonly type: 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';
  readonly status: 'True' | 'False';
}

/** In ms: `now` since the epoch, `nowMs` monotonic. */
export interface Moment {
  readonly now: number;
  readonly nowMs: number;
}

/** The status when the target's size could not be read. */
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

/** The status when the decision or the resize failed: keeps the earlier metrics. */
export function unfinished(
  { status }: HorizontalPodAutoscaler,
  { replicas }: Size,
  conditions: Conditions,
): HorizontalPodAutoscalerStatus {
  return statusOf({
    lastScaleTime: status?.lastScaleTime,
    currentReplicas: replicas,
    desiredReplicas: status?.desiredReplicas ?? 0,
    // Servers may write null.
    currentMetrics: status?.currentMetrics ?? undefined,
    conditions,
  });
}

interface Outcome {
  readonly rescale?: { readonly replicas: number };
  readonly conditions: Conditions;
  readonly metrics?: readonly MetricStatus[];
}

/** The status after a successful decision. */
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

/** The conditions after a failed resize. */
export function notRescaled(conditions: Conditions, message: string, moment: Moment): Conditions {
  return withConditions(conditions, moment, {
    type: 'AbleToScale',
    status: 'False',
    reason: 'FailedUpdateScale',
    message: `the HPA controller was unable to update the target scale: ${message}`,
  });
}

/** Omits undefined fields; as in 1.24, observedGeneration is not set. */
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
  ...next: NewCondition[]
): Conditions {
  let all: Conditions = conditions ?? [];
  for (const { type, status, reason, message } of next) {
    all = setCondition(all, { type, status, reason, message }, formatTime(now));
  }
  return all;
}

export const succeededGetScale: NewCondition = {
  type: 'AbleToScale',
  status: 'True',
  reason: 'SucceededGetScale',
  message: "the HPA controller was able to get the target's current scale",
};

export const disabled: NewCondition = {
  type: 'ScalingActive',
  status: 'False',
  reason: 'ScalingDisabled',
  message: 'scaling is disabled since the replica count of the target is zero',
};

function rescaled(replicas: number): NewCondition {
  return {
    type: 'AbleToScale',
    status: 'True',
    reason: 'SucceededRescale',
    message: `the HPA controller was able to update the target scale to ${replicas}`,
  };
}

export function active({ name }: Proposal): NewCondition {
  return {
    type: 'ScalingActive',
    status: 'True',
    reason: 'ValidMetricFound',
    message: `the HPA was able to successfully calculate a replica count from ${name}`,
  };
}

export function failedReading({ reason, message }: FailedReading): NewCondition {
  return {
    type: 'ScalingActive',
    status: 'False',
    reason,
    message: `the HPA was unable to compute the replica count: ${message}`,
  };
}
