/** The metrics of work queues, named as in release 1.24. */
import type { Registry } from 'prom-client';
import { counter, exponentialBuckets, gauge, histogram } from '#daemon/metrics/metric.js';

/** State of a queue, read at scrape time. */
export interface QueueState {
  depth(): number;
  /** Seconds that each item in progress has taken so far. */
  runningSeconds(): number[];
}

/** Receives a queue's events. */
export interface QueueMetrics {
  added(): void;
  /** An item was handed out after `queuedMs` in the queue. */
  started(queuedMs: number): void;
  finished(workedMs: number): void;
  retried(): void;
  /** The queue shut down: its gauges disappear. */
  closed(): void;
}

const noMetrics: QueueMetrics = { added() {}, started() {}, finished() {}, retried() {}, closed() {} };

/** Ten bounds from 10 ns to 10 s, as in 1.24. */
const bucketsSeconds = exponentialBuckets(1e-8, 10, 10);

/**
 * The metrics of the queues of one registry. Gauges are computed at scrape time, without timers. A registry has one at a
 * time: a later one takes over the gauges.
 */
export class WorkQueueMetrics {
  readonly #registry: Registry | undefined;
  readonly #queues = new Map<string, Set<QueueState>>();

  constructor(registry: Registry | undefined) {
    this.#registry = registry;
    if (registry !== undefined) this.#declareGauges(registry);
  }

  /** `name`: the label; a queue without a name has no metrics. */
  forQueue(name: string | undefined, state: QueueState): QueueMetrics {
    const registry = this.#registry;
    if (registry === undefined || name === undefined) return noMetrics;
    const adds = counter(registry, {
      name: 'workqueue_adds_total',
      help: '[ALPHA] Total number of adds handled by workqueue',
      labelNames: ['name'],
    }).labels(name);
    const retries = counter(registry, {
      name: 'workqueue_retries_total',
      help: '[ALPHA] Total number of retries handled by workqueue',
      labelNames: ['name'],
    }).labels(name);
    const queued = histogram(registry, {
      name: 'workqueue_queue_duration_seconds',
      help: '[ALPHA] How long in seconds an item stays in workqueue before being requested.',
      labelNames: ['name'],
      buckets: bucketsSeconds,
    }).labels(name);
    const worked = histogram(registry, {
      name: 'workqueue_work_duration_seconds',
      help: '[ALPHA] How long in seconds processing an item from workqueue takes.',
      labelNames: ['name'],
      buckets: bucketsSeconds,
    }).labels(name);
    adds.inc(0);
    retries.inc(0);
    const queues = this.#queues.get(name) ?? new Set();
    this.#queues.set(name, queues.add(state));
    return {
      added: () => adds.inc(),
      started: (queuedMs) => queued.observe(queuedMs / 1000),
      finished: (workedMs) => worked.observe(workedMs / 1000),
      retried: () => retries.inc(),
      closed: () => {
        queues.delete(state);
        if (queues.size === 0 && this.#queues.get(name) === queues) this.#queues.delete(name);
      },
    };
  }

  #declareGauges(registry: Registry): void {
    const declare = (name: string, help: string, value: (states: readonly QueueState[]) => number) => {
      const queues = this.#queues;
      registry.removeSingleMetric(name);
      gauge(registry, {
        name,
        help,
        labelNames: ['name'],
        collect() {
          this.reset();
          for (const [queue, states] of queues) this.labels(queue).set(value([...states]));
        },
      });
    };
    declare('workqueue_depth', '[ALPHA] Current depth of workqueue', (states) =>
      states.reduce((sum, state) => sum + state.depth(), 0),
    );
    declare(
      'workqueue_unfinished_work_seconds',
      "[ALPHA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
      (states) => states.flatMap((state) => state.runningSeconds()).reduce((sum, seconds) => sum + seconds, 0),
    );
    declare(
      'workqueue_longest_running_processor_seconds',
      '[ALPHA] How many seconds has the longest running processor for workqueue been running.',
      (states) => states.flatMap((state) => state.runningSeconds()).reduce((max, seconds) => Math.max(max, seconds), 0),
    );
  }
}
