/**
 * How many pods a measured value asks for. Pure; rules and messages of release 1.24 (its replica calculator), with one
 * bug of that release left out: pods without metrics no longer take others away when the rest use exactly the target.
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

/** What is scaled, and how carefully. */
export interface Target extends StartupOptions {
  /** Wanted now, and there now. */
  readonly specReplicas: number;
  readonly statusReplicas: number;
  readonly pods: readonly Pod[];
  /** The least distance of a ratio from 1 that matters. */
  readonly tolerance: number;
  /** Ms since the epoch. */
  readonly now: number;
}

export interface Calculated {
  readonly replicas: number;
  /** Of the metric as a whole, or the average over the pods: what was measured, in thousandths. */
  readonly milli: number;
}

export interface CalculatedUtilization extends Calculated {
  /** Percent of what is requested. */
  readonly percent: number;
}

export interface ResourceName {
  readonly name: string;
  /** Absent: all containers of the pods. */
  readonly container?: string;
}

const maxInt32 = 2 ** 31 - 1;

/** A number of replicas, whatever the metrics' strangers said. */
function replicasOf(count: number): number {
  return Number.isNaN(count) ? 0 : Math.min(Math.max(Math.ceil(count), 0), maxInt32);
}

/** The ratio of used to requested percent decides. Throws where nothing can be said. */
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
    // When there are too many pods, those that nothing is known of use all that they may.
    assumed: (pod) => requests.get(pod) ?? 0,
  });
  return { replicas, ...first };
}

/** The ratio of the average to the wanted average decides. Throws where nothing can be said. */
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

/** The ratio of the value to the wanted value, times the pods that are ready. Throws where there are no pods. */
export function replicasForValue(target: Target, milli: number, targetMilli: number): Calculated {
  const { specReplicas } = target;
  const ratio = milli / targetMilli;
  // From nothing there is no proportion to keep.
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

/** As many as share the value so that each has the wanted one. */
export function replicasForShare(target: Target, milli: number, targetMilli: number): Calculated {
  const { statusReplicas } = target;
  const ratio = milli / (targetMilli * statusReplicas);
  return {
    replicas: isWithin(target, ratio) ? statusReplicas : replicasOf(milli / targetMilli),
    // Without pods it is nobody's share.
    milli: statusReplicas === 0 ? milli : Math.ceil(milli / statusReplicas),
  };
}

interface Measure {
  /** How many times the target the values are. */
  ratio(values: ReadonlyMap<string, number>): number;
  /** What a pod without metrics is taken to use where there are too many pods. */
  assumed(pod: string): number;
}

/** The values of pods that are neither starting nor on their way out. Throws where there are none. */
function countedValues(metrics: PodMetrics, { unready, ignored }: PodGroups): ReadonlyMap<string, number> {
  const counted = [...metrics].filter(([pod]) => !unready.has(pod) && !ignored.has(pod));
  if (counted.length === 0) throw new Error('did not receive metrics for any ready pods');
  return new Map(counted.map(([pod, { milli }]) => [pod, milli]));
}

/**
 * Pods of which nothing is known hold back: those without metrics are taken to use little where pods are missing, and
 * much where there are too many; those that are starting count only where pods are missing. Where this would turn the
 * direction around, nothing changes.
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
  const turned = second < 1 ? replicas > specReplicas : replicas < specReplicas;
  return turned ? specReplicas : replicas;
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
    // Of a pod that is not known (any more).
    if (request === undefined) continue;
    used += milli;
    requested += request;
    pods += 1;
  }
  if (requested === 0) throw new Error('no metrics returned matched known pods');
  const percent = Math.trunc((used * 100) / requested);
  return { percent: Math.min(Math.max(percent, -maxInt32), maxInt32), milli: Math.trunc(used / pods) };
}
