/** The series that all controllers have in common. */
import type { Registry } from 'prom-client';
import { WorkQueueMetrics } from '#client/workqueue/metrics.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { counter, histogram } from '#daemon/metrics/metric.js';

export type ReconcileResult = Outcome['kind'];

export interface ControllerMetrics {
  readonly queues: WorkQueueMetrics;
  /** Counts one reconcile of a controller and the milliseconds it took. */
  reconciled(controller: string, result: ReconcileResult, ms: number): void;
  /** A counter of a controller's own, made at the first call. */
  count(name: string, help: string, labels?: Readonly<Record<string, string>>): void;
}

const results: readonly ReconcileResult[] = ['done', 'requeueAfter', 'retry', 'terminal'];

/** Metrics in a registry; without one nothing is kept. */
export function controllerMetrics(registry: Registry | undefined): ControllerMetrics {
  const queues = new WorkQueueMetrics(registry);
  if (registry === undefined) return { queues, reconciled() {}, count() {} };
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
    count(name, help, labels = {}) {
      counter(registry, { name, help, labelNames: Object.keys(labels) }).inc(labels);
    },
  };
}
