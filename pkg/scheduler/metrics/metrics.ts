/** The scheduler's metrics, named as in release 1.24, with 1.24's buckets or every second of them. */
import type { Registry } from 'prom-client';
import { exponentialBuckets, gauge } from '#daemon/metrics/metric.js';
import { type HistogramSeries, PlainCounter, PlainHistogram } from '#daemon/metrics/plain-series.js';

export type AttemptResult = 'scheduled' | 'unschedulable' | 'error';
const extensionPoints = [
  'PreFilter',
  /** Per plugin only: preemption adds a pod to a node, or removes one, on trial. */
  'PreFilterExtensionAddPod',
  'PreFilterExtensionRemovePod',
  'Filter',
  'PostFilter',
  'PreScore',
  'Score',
  /** Per plugin only. */
  'ScoreExtensionNormalize',
  'Reserve',
  'Unreserve',
  'Permit',
  'PreBind',
  'Bind',
  'PostBind',
] as const;
export type ExtensionPoint = (typeof extensionPoints)[number];
/** Result of a plugin, or of all plugins of a point. */
const pluginStatuses = ['Success', 'Unschedulable', 'UnschedulableAndUnresolvable', 'Error', 'Wait', 'Skip'] as const;
export type PluginStatus = (typeof pluginStatuses)[number];
export type QueueName = 'active' | 'backoff' | 'unschedulable';

/** State that the gauges read at scrape time. */
export interface SchedulerState {
  readonly pending: Readonly<Record<QueueName, number>>;
  /** Number of waiting pods per profile and plugin that rejected them. */
  readonly unschedulable: readonly { readonly plugin: string; readonly profile: string; readonly pods: number }[];
  readonly cache: { readonly nodes: number; readonly pods: number; readonly assumedPods: number };
  readonly bindings: number;
}

/** Records single plugin calls; only sampled cycles have one, as in 1.24. */
export interface PluginRecorder {
  executed(plugin: string, point: ExtensionPoint, status: PluginStatus, durationMs: number): void;
}

export interface SchedulerMetrics {
  /** Counts an attempt and its duration (ms). */
  attempt(result: AttemptResult, profile: string, durationMs: number): void;
  /** Records a decision that found a node. */
  decided(durationMs: number): void;
  /** Records a bound pod: number of attempts, and time since it was first queued (ms). */
  bound(attempts: number, sinceFirstSeenMs: number): void;
  /** Counts a preemption attempt. */
  preempting(): void;
  /** Records the number of victims of a preemption. */
  preempted(victims: number): void;
  extensionPoint(point: ExtensionPoint, status: PluginStatus, profile: string, durationMs: number): void;
  /** Undefined for cycles that are not sampled. */
  pluginRecorder(): PluginRecorder | undefined;
  /** The same for single calls after a decision. */
  callRecorder(): PluginRecorder | undefined;
  /** Counts a failure to reserve (`assume`) or bind (`bind`) a pod's volumes. */
  volumesFailed(stage: 'assume' | 'bind'): void;
  /** Counts volume decisions: stored until they are in the API (`add`), and removed (`delete`). */
  volumesRemembered(operation: 'add' | 'delete'): void;
  /** Records how long a pod waited for Permit plugins (ms). */
  permitted(result: PluginStatus, durationMs: number): void;
  /** Counts a pod that enters a queue because of the event. */
  incoming(queue: QueueName, event: string): void;
  /** Sets the source of the gauges; undefined: the gauges are empty. */
  observe(state: (() => SchedulerState) | undefined): void;
}

const attemptBuckets = exponentialBuckets(0.001, 2, 15);
/** One of this many cycles has its plugins measured. */
const sampledCycle = 10;
/** Nodes measured per sampled cycle: reading the clock costs more than most plugin calls. */
export const sampledNodes = 16;
const mostAttempts = 15;

export function schedulerMetrics(registry: Registry): SchedulerMetrics {
  const byResult = ['result', 'profile'];
  const attempts = new PlainCounter(registry, {
    name: 'scheduler_schedule_attempts_total',
    help: "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.",
    labelNames: byResult,
  });
  const attemptSeconds = new PlainHistogram(registry, {
    name: 'scheduler_scheduling_attempt_duration_seconds',
    help: '[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)',
    labelNames: byResult,
    buckets: attemptBuckets,
  });
  const endToEndSeconds = new PlainHistogram(registry, {
    name: 'scheduler_e2e_scheduling_duration_seconds',
    help: '[ALPHA] (Deprecated since 1.23.0) E2e scheduling latency in seconds (scheduling algorithm + binding). This metric is replaced by scheduling_attempt_duration_seconds.',
    labelNames: byResult,
    buckets: attemptBuckets,
  });
  const algorithmSeconds = new PlainHistogram(registry, {
    name: 'scheduler_scheduling_algorithm_duration_seconds',
    help: '[ALPHA] Scheduling algorithm latency in seconds',
    buckets: attemptBuckets,
  }).labels();
  const podSeconds = new PlainHistogram(registry, {
    name: 'scheduler_pod_scheduling_duration_seconds',
    help: '[STABLE] E2e latency for a pod being scheduled which may include multiple scheduling attempts.',
    labelNames: ['attempts'],
    buckets: exponentialBuckets(0.01, 4, 10),
  });
  const podAttempts = new PlainHistogram(registry, {
    name: 'scheduler_pod_scheduling_attempts',
    help: '[STABLE] Number of attempts to successfully schedule a pod.',
    buckets: exponentialBuckets(1, 2, 5),
  }).labels();
  const pointSeconds = new PlainHistogram(registry, {
    name: 'scheduler_framework_extension_point_duration_seconds',
    help: '[STABLE] Latency for running all plugins of a specific extension point.',
    labelNames: ['extension_point', 'status', 'profile'],
    buckets: exponentialBuckets(0.0001, 2, 12),
  });
  const permitSeconds = new PlainHistogram(registry, {
    name: 'scheduler_permit_wait_duration_seconds',
    help: '[ALPHA] Duration of waiting on permit.',
    labelNames: ['result'],
    buckets: attemptBuckets,
  });
  const incoming = new PlainCounter(registry, {
    name: 'scheduler_queue_incoming_pods_total',
    help: '[STABLE] Number of pods added to scheduling queues by event and queue type.',
    labelNames: ['queue', 'event'],
  });
  const preemptions = new PlainCounter(registry, {
    name: 'scheduler_preemption_attempts_total',
    help: '[STABLE] Total preemption attempts in the cluster till now',
  }).labels();
  const victims = new PlainHistogram(registry, {
    name: 'scheduler_preemption_victims',
    help: '[STABLE] Number of selected preemption victims',
    buckets: exponentialBuckets(1, 2, 7),
  }).labels();
  const recorder = new SampledPlugins(registry);
  const volumeFailures = new PlainCounter(registry, {
    name: 'scheduler_volume_scheduling_stage_error_total',
    help: '[ALPHA] Volume scheduling stage error count',
    labelNames: ['operation'],
  });
  const volumeDecisions = new PlainCounter(registry, {
    name: 'scheduler_volume_binder_cache_requests_total',
    help: '[ALPHA] Total number for request volume binding cache',
    labelNames: ['operation'],
  });
  let cycles = 0;
  let calls = 0;
  return {
    attempt(result, profile, durationMs) {
      attempts.labels(result, profile).inc();
      attemptSeconds.labels(result, profile).observe(durationMs / 1000);
      endToEndSeconds.labels(result, profile).observe(durationMs / 1000);
    },
    decided: (durationMs) => algorithmSeconds.observe(durationMs / 1000),
    bound(tries, sinceFirstSeenMs) {
      const label = tries >= mostAttempts ? `${mostAttempts}+` : String(tries);
      podSeconds.labels(label).observe(sinceFirstSeenMs / 1000);
      podAttempts.observe(tries);
    },
    preempting: () => preemptions.inc(),
    preempted: (count) => victims.observe(count),
    extensionPoint: (point, status, profile, durationMs) =>
      pointSeconds.labels(point, status, profile).observe(durationMs / 1000),
    callRecorder: () => (calls++ % sampledCycle === 0 ? recorder : undefined),
    volumesFailed: (stage) => volumeFailures.labels(stage).inc(),
    volumesRemembered: (operation) => volumeDecisions.labels(operation).inc(),
    pluginRecorder: () => (cycles++ % sampledCycle === 0 ? recorder : undefined),
    permitted: (result, durationMs) => permitSeconds.labels(result).observe(durationMs / 1000),
    incoming: (queue, event) => incoming.labels(queue, event).inc(),
    observe: stateGauges(registry),
  };
}

/** A numeric key for each pair, so that looking up a series concatenates no strings. */
const keyOf = (point: ExtensionPoint, status: PluginStatus): number =>
  extensionPoints.indexOf(point) * pluginStatuses.length + pluginStatuses.indexOf(status);

class SampledPlugins implements PluginRecorder {
  readonly #seconds: PlainHistogram;
  readonly #series = new Map<string, Map<number, HistogramSeries>>();

  constructor(registry: Registry) {
    this.#seconds = new PlainHistogram(registry, {
      name: 'scheduler_plugin_execution_duration_seconds',
      help: '[ALPHA] Duration for running a plugin at a specific extension point.',
      labelNames: ['plugin', 'extension_point', 'status'],
      buckets: exponentialBuckets(0.00001, 2.25, 10),
    });
  }

  executed(plugin: string, point: ExtensionPoint, status: PluginStatus, durationMs: number): void {
    let ofPlugin = this.#series.get(plugin);
    if (ofPlugin === undefined) {
      ofPlugin = new Map();
      this.#series.set(plugin, ofPlugin);
    }
    const key = keyOf(point, status);
    let series = ofPlugin.get(key);
    if (series === undefined) {
      series = this.#seconds.labels(plugin, point, status);
      ofPlugin.set(key, series);
    }
    series.observe(durationMs / 1000);
  }
}

/** Gauges computed at scrape time; a registry has one scheduler at a time. */
function stateGauges(registry: Registry): SchedulerMetrics['observe'] {
  let current: (() => SchedulerState) | undefined;
  const declare = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    values: (state: SchedulerState) => readonly (readonly [Record<L, string>, number])[],
  ) =>
    gauge(registry, {
      name,
      help,
      labelNames,
      collect() {
        this.reset();
        if (current === undefined) return;
        for (const [labels, value] of values(current())) this.set(labels, value);
      },
    });
  declare(
    'scheduler_pending_pods',
    "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods.",
    ['queue'],
    ({ pending }) => Object.entries(pending).map(([queue, pods]) => [{ queue }, pods] as const),
  );
  declare(
    'scheduler_unschedulable_pods',
    '[ALPHA] The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.',
    ['plugin', 'profile'],
    ({ unschedulable }) => unschedulable.map(({ plugin, profile, pods }) => [{ plugin, profile }, pods] as const),
  );
  declare(
    'scheduler_scheduler_cache_size',
    '[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache.',
    ['type'],
    ({ cache }) => [
      [{ type: 'nodes' }, cache.nodes],
      [{ type: 'pods' }, cache.pods],
      [{ type: 'assumed_pods' }, cache.assumedPods],
    ],
  );
  declare(
    'scheduler_scheduler_goroutines',
    '[ALPHA] Number of running goroutines split by the work they do such as binding.',
    ['operation'],
    ({ bindings }) => [[{ operation: 'binding' }, bindings]],
  );
  return (state) => {
    current = state;
  };
}
