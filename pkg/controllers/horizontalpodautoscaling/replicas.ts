/**
 * Computes replicas from measured values. Rules and messages of release 1.24 (its replica calculator), except one bug:
 * pods without metrics no longer cause a scale-down when the others are exactly at the target. Pure.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import {
  groupPods,
  type PodGroups,
  type PodMetrics,
  podRequests,
  readyPods,
  requirePods,
  type StartupOptions,
} from '#controllers/horizontalpodautoscaling/pods.js';

/** The scaled target and its tolerance. */
export interface Target extends StartupOptions {
  readonly specReplicas: number;
  readonly statusReplicas: number;
  readonly pods: readonly Pod[];
  /** Ratios within this distance from 1 cause no change. */
  readonly tolerance: number;
  /** Ms since the epoch. */
  readonly now: number;
}

export interface Calculated {
  readonly replicas: number;
  /** The measured value, total or average per pod, in thousandths. */
  readonly milli: number;
}

export interface CalculatedUtilization extends Calculated {
  /** Percent of the request. */
  readonly percent: number;
}

export interface ResourceName {
  readonly name: string;
  /** By default all containers. */
  readonly container?: string;
}

const maxInt32 = 2 ** 31 - 1;

/** Limits any number from a metrics server to a valid number of replicas. */
function replicasOf(count: number): number {
  return Number.isNaN(count) ? 0 : Math.min(Math.max(Math.ceil(count), 0), maxInt32);
}

/** Compares the utilization with the target percentage. Throws without usable metrics. */
export function replicasForUtilization(
  target: Target,
  metrics: PodMetrics,
  resource: ResourceName,
  targetPercent: number,
): CalculatedUtilization {
  requirePods(target.pods);
  const groups = groupPods(target.pods, metrics, resource.name, target, target.now);
  const requests = podRequests(target.pods, resource.name, resource.container);
  const values = countedValues(metrics, groups);
  const first = utilization(values, requests);
  const replicas = replicasFor(target, values, groups, {
    ratio: (each) => utilization(each, requests).percent / targetPercent,
    // When scaling down, assume that pods without metrics use their whole request.
    assumed: (pod) => requests.get(pod) ?? 0,
  });
  return { replicas, ...first };
}

/** Compares the average with the target average. Throws without usable metrics. */
export function replicasForAverage(
  target: Target,
  metrics: PodMetrics,
  resource: string | undefined,
  targetMilli: number,
): Calculated {
  requirePods(target.pods);
  const groups = groupPods(target.pods, metrics, resource, target, target.now);
  const values = countedValues(metrics, groups);
  const replicas = replicasFor(target, values, groups, {
    ratio: (each) => average(each) / targetMilli,
    assumed: () => targetMilli,
  });
  return { replicas, milli: average(values) };
}

/** Multiplies the ready pods by the ratio of value to target. Throws without pods. */
export function replicasForValue(target: Target, milli: number, targetMilli: number): Calculated {
  const { specReplicas } = target;
  const ratio = milli / targetMilli;
  // Without pods, each replica handles one target value.
  if (specReplicas === 0) return { replicas: replicasOf(ratio), milli };
  return { replicas: isWithin(target, ratio) ? specReplicas : replicasOf(ratio * ready(target)), milli };
}

function ready({ pods }: Target): number {
  try {
    return readyPods(pods);
  } catch (error) {
    throw new Error(`unable to calculate ready pods: ${messageOf(error)}`, { cause: error });
  }
}

/** Divides the value by the target per pod. */
export function replicasForShare(target: Target, milli: number, targetMilli: number): Calculated {
  const { statusReplicas } = target;
  const ratio = milli / (targetMilli * statusReplicas);
  return {
    replicas: isWithin(target, ratio) ? statusReplicas : replicasOf(milli / targetMilli),
    // Without pods, the total is reported.
    milli: statusReplicas === 0 ? milli : Math.ceil(milli / statusReplicas),
  };
}

interface Measure {
  /** The ratio of the values to the target. */
  ratio(values: ReadonlyMap<string, number>): number;
  /** The assumed usage of a pod without metrics when scaling down. */
  assumed(pod: string): number;
}

/** Values of pods that are not starting, failed or being deleted. Throws when there are none. */
function countedValues(metrics: PodMetrics, { unready, ignored }: PodGroups): ReadonlyMap<string, number> {
  const counted = [...metrics].filter(([pod]) => !unready.has(pod) && !ignored.has(pod));
  if (counted.length === 0) throw new Error('did not receive metrics for any ready pods');
  return new Map(counted.map(([pod, { milli }]) => [pod, milli]));
}

/**
 * Damps the change by pods without metrics: they count as idle when scaling up, and as busy when scaling down. Starting
 * pods count as idle when scaling up. If this would reverse the direction, the size stays unchanged.
 */
function replicasFor(
  target: Target,
  values: ReadonlyMap<string, number>,
  { ready, unready, missing }: PodGroups,
  { ratio, assumed }: Measure,
): number {
  const { specReplicas } = target;
  const first = ratio(values);
  const rising = first > 1;
  const countsUnready = rising && unready.size > 0;
  if (!countsUnready && missing.size === 0) {
    return isWithin(target, first) ? specReplicas : replicasOf(first * ready);
  }
  const all = new Map(values);
  if (rising) for (const pod of missing) all.set(pod, 0);
  if (first < 1) for (const pod of missing) all.set(pod, assumed(pod));
  if (countsUnready) for (const pod of unready) all.set(pod, 0);
  const second = ratio(all);
  if (isWithin(target, second) || (first < 1 && second > 1) || (rising && second < 1)) return specReplicas;
  const replicas = replicasOf(second * all.size);
  const reversed = second < 1 ? replicas > specReplicas : replicas < specReplicas;
  return reversed ? specReplicas : replicas;
}

function isWithin({ tolerance }: Target, ratio: number): boolean {
  return Math.abs(1 - ratio) <= tolerance;
}

function average(values: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const milli of values.values()) sum += milli;
  return Math.trunc(sum / values.size);
}

function utilization(values: ReadonlyMap<string, number>, requests: ReadonlyMap<string, number>) {
  let used = 0;
  let requested = 0;
  let pods = 0;
  for (const [pod, milli] of values) {
    const request = requests.get(pod);
    // The cache does not show the pod.
    if (request === undefined) continue;
    used += milli;
    requested += request;
    pods += 1;
  }
  if (requested === 0) throw new Error('no metrics returned matched known pods');
  const percent = Math.trunc((used * 100) / requested);
  return { percent: Math.min(Math.max(percent, -maxInt32), maxInt32), milli: Math.trunc(used / pods) };
}
