/** The metrics that all controllers have in common. */
import type { Registry } from 'prom-client';
import { WorkQueueMetrics } from '#client/workqueue/metrics.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { counter, gauge, histogram } from '#daemon/metrics/metric.js';

export type ReconcileResult = Outcome['kind'];

export interface ControllerMetrics {
  readonly queues: WorkQueueMetrics;
  /** Counts one reconcile of a controller and the milliseconds it took. */
  reconciled(controller: string, result: ReconcileResult, ms: number): void;
  /** Adds `amount` (default 1) to a counter of the controller's own, which is created by the first call. */
  count(name: string, help: string, labels?: Readonly<Record<string, string>>, amount?: number): void;
  /**
   * A gauge of the controller's own; `read` computes its values at each scrape. Returns the function that removes it.
   * If several are registered for one gauge, the last one is used.
   */
  gauge(gauge: ControllerGauge, read: () => Iterable<GaugeSample>): () => void;
  /** Adds an observation to a histogram of the controller's own, which is created by the first call. */
  observe(histogram: ControllerHistogram, seconds: number, labels?: Readonly<Record<string, string>>): void;
}

export interface ControllerHistogram {
  readonly name: string;
  readonly help: string;
  /** Upper bounds in seconds. */
  readonly buckets: readonly number[];
}

export interface ControllerGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

export interface GaugeSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const results: readonly ReconcileResult[] = ['done', 'requeueAfter', 'wait', 'retry', 'terminal'];

/** Metrics in a registry; without a registry nothing is recorded. */
export function controllerMetrics(registry: Registry | undefined): ControllerMetrics {
  const queues = new WorkQueueMetrics(registry);
  if (registry === undefined) return { queues, reconciled() {}, count() {}, gauge: () => () => {}, observe() {} };
  const total = counter(registry, {
    name: 'controller_reconciles_total',
    help: 'Reconciles by controller and result',
    labelNames: ['controller', 'result'],
  });
  const seconds = histogram(registry, {
    name: 'controller_reconcile_duration_seconds',
    help: 'Seconds that one reconcile took',
    labelNames: ['controller'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
  });
  const known = new Set<string>();
  const readers = new Map<string, () => Iterable<GaugeSample>>();
  return {
    queues,
    reconciled(controller, result, ms) {
      if (!known.has(controller)) {
        known.add(controller);
        for (const each of results) total.inc({ controller, result: each }, 0);
      }
      total.inc({ controller, result });
      seconds.observe({ controller }, ms / 1000);
    },
    count(name, help, labels = {}, amount = 1) {
      counter(registry, { name, help, labelNames: Object.keys(labels) }).inc(labels, amount);
    },
    gauge({ name, help, labelNames }, read) {
      readers.set(name, read);
      gauge(registry, {
        name,
        help,
        labelNames,
        collect() {
          this.reset();
          for (const { labels, value } of readers.get(name)?.() ?? []) this.set(labels, value);
        },
      });
      return () => {
        if (readers.get(name) === read) readers.delete(name);
      };
    },
    observe({ name, help, buckets }, seconds, labels = {}) {
      const labelNames = Object.keys(labels);
      histogram(registry, { name, help, labelNames, buckets: [...buckets] }).observe(labels, seconds);
    },
  };
}
