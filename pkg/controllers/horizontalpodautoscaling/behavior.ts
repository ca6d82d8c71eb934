/** Limits a desired size by stabilization, scaling policies and bounds. Rules of release 1.24. Pure. */
import type { HorizontalPodAutoscalerBehavior, HPAScalingRules } from '#api/autoscaling/v2/types.gen.js';
import {
  changedWithin,
  type History,
  type Recommendation,
  recommended,
  type ScaleEvent,
} from '#controllers/horizontalpodautoscaling/history.js';

export interface DesiredScale {
  readonly current: number;
  /** The size that the metrics require. */
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly behavior: HorizontalPodAutoscalerBehavior | undefined;
  /** The default stabilization window for scaling down. */
  readonly downscaleStabilizationMs: number;
  /** Monotonic time. */
  readonly nowMs: number;
}

export interface ReasonAndMessage {
  readonly reason: string;
  readonly message: string;
}

export interface Normalized {
  readonly replicas: number;
  /** The condition AbleToScale: whether the size was stabilized. */
  readonly able: ReasonAndMessage;
  /** The condition ScalingLimited. */
  readonly limited: ReasonAndMessage & { readonly isLimited: boolean };
  /** Includes this recommendation. */
  readonly history: History;
}

const ready: ReasonAndMessage = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
const upStabilized: ReasonAndMessage = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
};
const downStabilized: ReasonAndMessage = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
};
const within: ReasonAndMessage = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};
const tooMany: ReasonAndMessage = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const tooFew: ReasonAndMessage = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const tooFastUp: ReasonAndMessage = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const tooFastDown: ReasonAndMessage = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

/** Without a behavior, one step can double the size or scale to this size. */
const alwaysAllowedReplicas = 4;

export function normalize(request: DesiredScale, history: History): Normalized {
  return request.behavior === undefined
    ? withDefaults(request, history)
    : withBehavior(request, request.behavior, history);
}

function withDefaults(request: DesiredScale, history: History): Normalized {
  const { current, desired, min, max, downscaleStabilizationMs: windowMs, nowMs } = request;
  const recent = history.recommendations.filter(({ atMs }) => atMs >= nowMs - windowMs);
  const stable = furthest(recent, desired, Math.max);
  const fastest = Math.max(2 * current, alwaysAllowedReplicas);
  const most = Math.min(max, fastest);
  return {
    ...limit(stable, { least: min, most, below: tooFew, above: max > fastest ? tooFastUp : tooMany }),
    able: stable === desired ? ready : downStabilized,
    history: recommended(history, desired, nowMs, windowMs),
  };
}

function withBehavior(request: DesiredScale, behavior: HorizontalPodAutoscalerBehavior, history: History): Normalized {
  const { current, desired, nowMs } = request;
  const { scaleUp = {}, scaleDown = {} } = behavior;
  const upMs = (scaleUp.stabilizationWindowSeconds ?? 0) * 1000;
  const defaultSeconds = Math.trunc(request.downscaleStabilizationMs / 1000);
  const downMs = (scaleDown.stabilizationWindowSeconds ?? defaultSeconds) * 1000;
  const recent = (windowMs: number) => history.recommendations.filter(({ atMs }) => atMs > nowMs - windowMs);
  // A current size between these two stays unchanged.
  const lowest = furthest(recent(upMs), desired, Math.min);
  const highest = furthest(recent(downMs), desired, Math.max);
  const stable = Math.min(Math.max(current, lowest), highest);
  const stabilized = desired >= current ? upStabilized : downStabilized;
  return {
    ...limit(stable, rangeOf(request, { scaleUp, scaleDown }, stable, history)),
    able: stable === desired ? ready : stabilized,
    history: recommended(history, desired, nowMs, Math.max(upMs, downMs)),
  };
}

function furthest(recent: readonly Recommendation[], desired: number, pick: (a: number, b: number) => number): number {
  return recent.reduce((best, { replicas }) => pick(best, replicas), desired);
}

interface Range {
  readonly least: number;
  readonly most: number;
  /** The reason when the size is below `least`. */
  readonly below: ReasonAndMessage;
  /** The reason when the size is above `most`. */
  readonly above: ReasonAndMessage;
}

function limit(desired: number, { least, most, below, above }: Range): Pick<Normalized, 'replicas' | 'limited'> {
  if (desired < least) return { replicas: least, limited: { ...below, isLimited: true } };
  if (desired > most) return { replicas: most, limited: { ...above, isLimited: true } };
  return { replicas: desired, limited: { ...within, isLimited: false } };
}

/** The range allowed by policies and bounds, in the direction of `stable` only. */
function rangeOf(
  { current, min, max, nowMs }: DesiredScale,
  { scaleUp, scaleDown }: { readonly scaleUp: HPAScalingRules; readonly scaleDown: HPAScalingRules },
  stable: number,
  { ups, downs }: History,
): Range {
  // An exhausted policy must not reverse the direction.
  const highest = stable > current ? Math.max(current, limitUp(current, ups, scaleUp, nowMs)) : max;
  const lowest = stable < current ? Math.min(current, limitDown(current, downs, scaleDown, nowMs)) : min;
  return {
    least: stable < current ? Math.max(min, lowest) : Number.NEGATIVE_INFINITY,
    most: stable > current ? Math.min(max, highest) : Number.POSITIVE_INFINITY,
    below: min < lowest ? tooFastDown : tooFew,
    above: max > highest ? tooFastUp : tooMany,
  };
}

const maxInt32 = 2 ** 31 - 1;

/** The maximum that the policies allow now. As in 1.24, only changes in this direction count. */
function limitUp(current: number, ups: readonly ScaleEvent[], rules: HPAScalingRules, nowMs: number): number {
  const { selectPolicy = 'Max', policies = [] } = rules;
  if (selectPolicy === 'Disabled') return current;
  const limits = policies.map(({ type, value, periodSeconds }) => {
    const start = current - changedWithin(ups, periodSeconds, nowMs);
    // Round up, so that a small percentage of few pods can add a pod.
    return type === 'Percent' ? Math.ceil(start * (1 + value / 100)) : start + value;
  });
  if (limits.length === 0) return current;
  return Math.min(selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits), maxInt32);
}

/** The minimum that the policies allow now. */
function limitDown(current: number, downs: readonly ScaleEvent[], rules: HPAScalingRules, nowMs: number): number {
  const { selectPolicy = 'Max', policies = [] } = rules;
  if (selectPolicy === 'Disabled') return current;
  const limits = policies.map(({ type, value, periodSeconds }) => {
    const start = current + changedWithin(downs, periodSeconds, nowMs);
    return type === 'Percent' ? Math.trunc(start * (1 - value / 100)) : start - value;
  });
  if (limits.length === 0) return current;
  return selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits);
}
