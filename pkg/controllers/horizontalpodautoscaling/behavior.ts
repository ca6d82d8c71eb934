/** From what the metrics ask for to what is done: stabilization, limits on the speed, and bounds. Pure; as in 1.24. */
import type { HorizontalPodAutoscalerBehavior, HPAScalingRules } from '#api/autoscaling/v2/types.gen.js';
import {
  changedWithin,
  type History,
  type Recommendation,
  recommended,
  type ScaleEvent,
} from '#controllers/horizontalpodautoscaling/history.js';

export interface Wish {
  readonly current: number;
  /** What the metrics ask for. */
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly behavior: HorizontalPodAutoscalerBehavior | undefined;
  /** How far back recommendations keep the size up, where the behavior does not say it. */
  readonly downscaleStabilizationMs: number;
  /** Monotonic. */
  readonly nowMs: number;
}

/** Reason and message of a condition. */
export interface Words {
  readonly reason: string;
  readonly message: string;
}

export interface Normalized {
  readonly replicas: number;
  /** Why the wish was not taken as it is; of AbleToScale. */
  readonly able: Words;
  /** Of ScalingLimited, with its status. */
  readonly limited: Words & { readonly isLimited: boolean };
  /** With this wish in it. */
  readonly history: History;
}

const ready: Words = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
const upStabilized: Words = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
};
const downStabilized: Words = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
};
const within: Words = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};
const tooMany: Words = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const tooFew: Words = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const tooFastUp: Words = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const tooFastDown: Words = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

/** Without a behavior the size at most doubles at once, except that it may always become this. */
const freeReplicas = 4;

export function normalize(wish: Wish, history: History): Normalized {
  return wish.behavior === undefined ? withDefaults(wish, history) : withBehavior(wish, wish.behavior, history);
}

function withDefaults(wish: Wish, history: History): Normalized {
  const { current, desired, min, max, downscaleStabilizationMs: windowMs, nowMs } = wish;
  const recent = history.recommendations.filter(({ atMs }) => atMs >= nowMs - windowMs);
  const stable = furthest(recent, desired, Math.max);
  const fastest = Math.max(2 * current, freeReplicas);
  const most = Math.min(max, fastest);
  return {
    ...limit(stable, { least: min, most, below: tooFew, above: max > fastest ? tooFastUp : tooMany }),
    able: stable === desired ? ready : downStabilized,
    history: recommended(history, desired, nowMs, windowMs),
  };
}

function withBehavior(wish: Wish, behavior: HorizontalPodAutoscalerBehavior, history: History): Normalized {
  const { current, desired, nowMs } = wish;
  const { scaleUp = {}, scaleDown = {} } = behavior;
  const upMs = (scaleUp.stabilizationWindowSeconds ?? 0) * 1000;
  const defaultSeconds = Math.trunc(wish.downscaleStabilizationMs / 1000);
  const downMs = (scaleDown.stabilizationWindowSeconds ?? defaultSeconds) * 1000;
  const recent = (windowMs: number) => history.recommendations.filter(({ atMs }) => atMs > nowMs - windowMs);
  // The size stays where it is as long as it is between the two.
  const lowest = furthest(recent(upMs), desired, Math.min);
  const highest = furthest(recent(downMs), desired, Math.max);
  const stable = Math.min(Math.max(current, lowest), highest);
  const stabilized = desired >= current ? upStabilized : downStabilized;
  return {
    ...limit(stable, rangeOf(wish, { scaleUp, scaleDown }, stable, history)),
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
  /** Why it may not be less, and not more. */
  readonly below: Words;
  readonly above: Words;
}

function limit(wanted: number, { least, most, below, above }: Range): Pick<Normalized, 'replicas' | 'limited'> {
  if (wanted < least) return { replicas: least, limited: { ...below, isLimited: true } };
  if (wanted > most) return { replicas: most, limited: { ...above, isLimited: true } };
  return { replicas: wanted, limited: { ...within, isLimited: false } };
}

/** What policies and bounds leave of the direction in which `stable` lies; the other one is not asked. */
function rangeOf(
  { current, min, max, nowMs }: Wish,
  { scaleUp, scaleDown }: { readonly scaleUp: HPAScalingRules; readonly scaleDown: HPAScalingRules },
  stable: number,
  { ups, downs }: History,
): Range {
  // A direction that is exhausted does not turn into the other one.
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

/** The most that the policies allow now. Changes of the other direction do not count, as in 1.24. */
function limitUp(current: number, ups: readonly ScaleEvent[], rules: HPAScalingRules, nowMs: number): number {
  const { selectPolicy = 'Max', policies = [] } = rules;
  if (selectPolicy === 'Disabled') return current;
  const limits = policies.map(({ type, value, periodSeconds }) => {
    const start = current - changedWithin(ups, periodSeconds, nowMs);
    // Rounded up: else a small percentage of few pods would never add one.
    return type === 'Percent' ? Math.ceil(start * (1 + value / 100)) : start + value;
  });
  if (limits.length === 0) return current;
  return Math.min(selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits), maxInt32);
}

/** The least that the policies allow now. */
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
