/** The metrics of controllers. */
import type { Registry } from 'prom-client';
import { WorkQueueMetrics } from '#client/workqueue/metrics.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { counter, gauge, histogram } from '#daemon/metrics/metric.js';

export type ReconcileResult = Outcome['kind'];

export interface ControllerMetrics {
  readonly queues: WorkQueueMetrics;
  /** Counts one reconcile and its duration. */
  reconciled(controller: string, result: ReconcileResult, ms: number): void;
  /** Adds `amount` (default 1) to a counter of the controller, created by the first call. */
  count(name: string, help: string, labels?: Readonly<Record<string, string>>, amount?: number): void;
  /**
   * Registers a gauge of the controller; `read` computes its values at each scrape. Returns the function that removes
   * it. A later registration under the same name replaces it.
   */
  gauge(gauge: ControllerGauge, read: () => Iterable<GaugeSample>): () => void;
  /** Adds an observation to a histogram of the controller, created by the first call. */
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

/** Without a registry nothing is recorded. */
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
  const initialized = new Set<string>();
  const readers = new Map<string, () => Iterable<GaugeSample>>();
  return {
    queues,
    reconciled(controller, result, ms) {
      if (!initialized.has(controller)) {
        initialized.add(controller);
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

/** Counts objects by their label values; omits objects without values. */
export function countByLabels<T>(
  objects: readonly T[],
  names: readonly string[],
  valuesOf: (object: T) => readonly string[] | undefined,
): GaugeSample[] {
  const counts = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const object of objects) {
    const values = valuesOf(object);
    if (values === undefined) continue;
    const key = values.join('\0');
    const sample = counts.get(key) ?? {
      labels: Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])),
      value: 0,
    };
    sample.value += 1;
    counts.set(key, sample);
  }
  return [...counts.values()];
}
