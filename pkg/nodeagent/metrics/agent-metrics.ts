/** The agent's own metrics, named as in release 1.24 with the agent's name in front. */

import type { Gauge, Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { exponentialBuckets, gauge } from '#daemon/metrics/metric.js';
import {
  type CounterSeries,
  type HistogramSeries,
  PlainCounter,
  PlainHistogram,
} from '#daemon/metrics/plain-series.js';

/** Operation of one pass over a pod. */
export type PodOperation = 'create' | 'update' | 'sync' | 'kill';

const standardBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Current counts of the node. */
export interface NodeCounts {
  /** Pods with a ready sandbox. */
  readonly runningPods: number;
  /** By state: `created`, `running`, `exited`, `unknown`. */
  readonly containers: Readonly<Record<string, number>>;
  /** Ephemeral containers in the specs of the node's pods. */
  readonly ephemeralContainers: number;
}

/** A registry holds the metrics of one agent. */
export class AgentMetrics {
  readonly operations: PlainCounter;
  readonly operationErrors: PlainCounter;
  readonly operationSeconds: PlainHistogram;
  readonly sandboxSeconds: PlainHistogram;
  readonly sandboxErrors: PlainCounter;
  readonly relistSeconds: HistogramSeries;
  readonly relistIntervalSeconds: HistogramSeries;
  readonly workerStartSeconds: HistogramSeries;
  readonly podStartSeconds: HistogramSeries;
  readonly preemptions: PlainCounter;
  readonly evictions: PlainCounter;
  readonly evictionStatsAge: PlainHistogram;
  readonly cgroupSeconds: PlainHistogram;
  readonly startedPods: CounterSeries;
  readonly startedPodErrors: CounterSeries;
  readonly startedContainers: PlainCounter;
  readonly startedContainerErrors: PlainCounter;
  readonly containersPerPod: HistogramSeries;
  readonly #workerSeconds: PlainHistogram;
  readonly #registry: Registry;
  readonly #prefix: string;
  readonly #lastSeen: Gauge;
  #relistedMs: number | undefined;

  constructor(registry: Registry, dialect: Dialect) {
    const prefix = dialect.components.nodeAgent;
    this.#registry = registry;
    this.#prefix = prefix;
    const counter = (name: string, help: string, labelNames: readonly string[] = []) =>
      new PlainCounter(registry, { name: `${prefix}_${name}`, help: `[ALPHA] ${help}`, labelNames });
    const histogram = (
      name: string,
      help: string,
      {
        labelNames = [],
        buckets = standardBuckets,
      }: { labelNames?: readonly string[]; buckets?: readonly number[] } = {},
    ) => new PlainHistogram(registry, { name: `${prefix}_${name}`, help: `[ALPHA] ${help}`, labelNames, buckets });
    const byOperation = ['operation_type'];
    this.operations = counter(
      'runtime_operations_total',
      'Cumulative number of runtime operations by operation type.',
      byOperation,
    );
    this.operationErrors = counter(
      'runtime_operations_errors_total',
      'Cumulative number of runtime operation errors by operation type.',
      byOperation,
    );
    this.operationSeconds = histogram(
      'runtime_operations_duration_seconds',
      'Duration in seconds of runtime operations. Broken down by operation type.',
      { labelNames: byOperation, buckets: exponentialBuckets(0.005, 2.5, 14) },
    );
    this.sandboxSeconds = histogram(
      'run_podsandbox_duration_seconds',
      'Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
      { labelNames: ['runtime_handler'] },
    );
    this.sandboxErrors = counter(
      'run_podsandbox_errors_total',
      'Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
      ['runtime_handler'],
    );
    this.relistSeconds = histogram(
      'pleg_relist_duration_seconds',
      'Duration in seconds for relisting pods in PLEG.',
    ).labels();
    this.relistIntervalSeconds = histogram(
      'pleg_relist_interval_seconds',
      'Interval in seconds between relisting in PLEG.',
    ).labels();
    this.#lastSeen = gauge(registry, {
      name: `${prefix}_pleg_last_seen_seconds`,
      help: '[ALPHA] Timestamp in seconds when PLEG was last seen active.',
    });
    this.#workerSeconds = histogram(
      'pod_worker_duration_seconds',
      'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
      { labelNames: byOperation },
    );
    this.workerStartSeconds = histogram(
      'pod_worker_start_duration_seconds',
      `Duration in seconds from ${prefix} seeing a pod to starting a worker.`,
    ).labels();
    this.podStartSeconds = histogram(
      'pod_start_duration_seconds',
      `Duration in seconds from ${prefix} seeing a pod for the first time to the pod starting to run`,
    ).labels();
    this.preemptions = counter('preemptions', 'Cumulative number of pod preemptions by preemption resource', [
      'preemption_signal',
    ]);
    this.evictions = counter('evictions', 'Cumulative number of pod evictions by eviction signal', ['eviction_signal']);
    this.evictionStatsAge = histogram(
      'eviction_stats_age_seconds',
      'Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
      { labelNames: ['eviction_signal'] },
    );
    this.cgroupSeconds = histogram(
      'cgroup_manager_duration_seconds',
      'Duration in seconds for cgroup manager operations. Broken down by method.',
      { labelNames: byOperation },
    );
    this.startedPods = counter('started_pods_total', 'Cumulative number of pods started').labels();
    this.startedPodErrors = counter(
      'started_pods_errors_total',
      'Cumulative number of errors when starting pods',
    ).labels();
    this.startedContainers = counter('started_containers_total', 'Cumulative number of containers started', [
      'container_type',
    ]);
    this.startedContainerErrors = counter(
      'started_containers_errors_total',
      'Cumulative number of errors when starting containers',
      ['container_type', 'code'],
    );
    this.containersPerPod = histogram('containers_per_pod_count', 'The number of containers per pod.', {
      buckets: exponentialBuckets(1, 2, 5),
    }).labels();
  }

  /** Records a pass over a pod, failed or not. */
  recordPass(operation: PodOperation, durationMs: number): void {
    this.#workerSeconds.labels(operation).observe(durationMs / 1000);
  }

  /** Records the start of a relist; the result records its end. Monotonic ms, except `wallMs`. */
  relisting(nowMs: number, wallMs: number): (endedMs: number) => void {
    this.#lastSeen.set(wallMs / 1000);
    if (this.#relistedMs !== undefined) this.relistIntervalSeconds.observe((nowMs - this.#relistedMs) / 1000);
    this.#relistedMs = nowMs;
    return (endedMs) => this.relistSeconds.observe((endedMs - nowMs) / 1000);
  }

  /** Registers metrics that are counted when they are read. */
  observeNode(nodeName: string, counts: () => NodeCounts): void {
    const registry = this.#registry;
    const prefix = this.#prefix;
    gauge(registry, {
      name: `${prefix}_node_name`,
      help: "[ALPHA] The node's name. The count is always 1.",
      labelNames: ['node'],
    }).set({ node: nodeName }, 1);
    gauge(registry, {
      name: `${prefix}_running_pods`,
      help: '[ALPHA] Number of pods that have a running pod sandbox',
      collect() {
        this.set(counts().runningPods);
      },
    });
    gauge(registry, {
      name: `${prefix}_managed_ephemeral_containers`,
      help: `[ALPHA] Current number of ephemeral containers in pods managed by this ${prefix}.`,
      collect() {
        this.set(counts().ephemeralContainers);
      },
    });
    gauge(registry, {
      name: `${prefix}_running_containers`,
      help: '[ALPHA] Number of containers currently running',
      labelNames: ['container_state'],
      collect() {
        for (const [container_state, count] of Object.entries(counts().containers))
          this.set({ container_state }, count);
      },
    });
  }
}
