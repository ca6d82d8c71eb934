/** Groups a target's pods by their state and metrics. Rules of release 1.24. Pure. */
import { getPodCondition, isPodReady } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';
import { milliValue } from '#apimachinery/quantity.js';

/** One measurement of one pod. */
export interface PodMetric {
  readonly milli: number;
  /** The end of the measurement; ms since the epoch. */
  readonly timestampMs: number;
  /** The duration of the measurement. */
  readonly windowMs: number;
}

/** By pod name. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** When the CPU usage of a starting pod is ignored. */
export interface StartupOptions {
  /** For this time after a pod's start, only samples measured entirely while the pod was ready count. */
  readonly cpuInitializationMs: number;
  /** A pod that became unready within this time after its start counts as never ready. */
  readonly initialReadinessMs: number;
}

export interface PodGroups {
  /** Pods whose metrics count. */
  readonly ready: number;
  readonly unready: ReadonlySet<string>;
  /** Pods without metrics. */
  readonly missing: ReadonlySet<string>;
  /** Failed pods and pods being deleted. */
  readonly ignored: ReadonlySet<string>;
}

/** `resource`: the resource of a resource metric. Startup matters for CPU only. */
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

/** The number of running, ready pods. Throws when there are no pods. */
export function readyPods(pods: readonly Pod[]): number {
  requirePods(pods);
  return pods.filter((pod) => pod.status?.phase === 'Running' && isPodReady(pod)).length;
}

export function requirePods(pods: readonly Pod[]): void {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count');
}

/** Requests of each pod, or of one container, in thousandths. Throws when a container has no request. */
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
