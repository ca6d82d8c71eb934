/** What an autoscaler makes of its target's pods and of what was measured of them. Pure; rules as of release 1.24. */
import { getPodCondition, isPodReady } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';
import { milliValue } from '#apimachinery/quantity.js';

/** One measurement of one pod. */
export interface PodMetric {
  readonly milli: number;
  /** When it was taken; ms since the epoch. */
  readonly timestampMs: number;
  /** Over how long before. */
  readonly windowMs: number;
}

/** By the pod's name. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** When what a pod uses of the processor says nothing yet. */
export interface StartupOptions {
  /** How long after its start a sample counts only if the pod was ready all the time that it was taken over. */
  readonly cpuInitializationMs: number;
  /** A pod that has become unready sooner than this after its start has never been ready. */
  readonly initialReadinessMs: number;
}

export interface PodGroups {
  /** Pods whose metrics count. */
  readonly ready: number;
  readonly unready: ReadonlySet<string>;
  /** Without metrics. */
  readonly missing: ReadonlySet<string>;
  /** On their way out. */
  readonly ignored: ReadonlySet<string>;
}

/** `resource`: the metric's, where it is of a resource: only the processor is busy for the start alone. */
export function groupPods(
  pods: readonly Pod[],
  metrics: PodMetrics,
  resource: string | undefined,
  options: StartupOptions,
  now: number,
): PodGroups {
  let ready = 0;
  const unready = new Set<string>();
  const missing = new Set<string>();
  const ignored = new Set<string>();
  for (const pod of pods) {
    const { name = '', deletionTimestamp } = pod.metadata;
    const phase = pod.status?.phase;
    const metric = metrics.get(name);
    if (deletionTimestamp !== undefined || phase === 'Failed') ignored.add(name);
    else if (phase === 'Pending') unready.add(name);
    else if (metric === undefined) missing.add(name);
    else if (resource === 'cpu' && isStarting(pod, metric, options, now)) unready.add(name);
    else ready += 1;
  }
  return { ready, unready, missing, ignored };
}

function isStarting({ status }: Pod, metric: PodMetric, options: StartupOptions, now: number): boolean {
  const condition = getPodCondition(status, 'Ready');
  if (condition === undefined || status?.startTime === undefined) return true;
  const startMs = parseTime(status.startTime);
  const { lastTransitionTime } = condition;
  const changedMs = lastTransitionTime === undefined ? Number.NEGATIVE_INFINITY : parseTime(lastTransitionTime);
  const isUnready = condition.status === 'False';
  if (startMs + options.cpuInitializationMs > now) {
    return isUnready || metric.timestampMs < changedMs + metric.windowMs;
  }
  return isUnready && startMs + options.initialReadinessMs > changedMs;
}

/** How many run and are ready. Throws where there are no pods at all. */
export function readyPods(pods: readonly Pod[]): number {
  requirePods(pods);
  return pods.filter((pod) => pod.status?.phase === 'Running' && isPodReady(pod)).length;
}

export function requirePods(pods: readonly Pod[]): void {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count');
}

/** What each pod requests of the resource, or one container of it, in thousandths. Throws where one requests nothing. */
export function podRequests(pods: readonly Pod[], resource: string, container?: string): ReadonlyMap<string, number> {
  const requests = new Map<string, number>();
  for (const { metadata, spec } of pods) {
    let sum = 0;
    for (const { name, resources } of spec.containers) {
      if (container !== undefined && container !== name) continue;
      const request = resources?.requests?.[resource];
      if (request === undefined) throw new Error(`missing request for ${resource}`);
      sum += milliValue(request);
    }
    requests.set(metadata.name ?? '', sum);
  }
  return requests;
}
