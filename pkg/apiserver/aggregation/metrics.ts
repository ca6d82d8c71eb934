/** Metrics of APIServices' availability, named as in 1.24. */
import type { Registry } from 'prom-client';
import { counter, gauge } from '#daemon/metrics/metric.js';

export interface AvailabilityMetrics {
  current(name: string, available: boolean): void;
  /** Counts an APIService that has become unavailable. */
  lost(name: string, reason: string): void;
  /** Drops the series of a deleted APIService. */
  gone(name: string): void;
}

export function availabilityMetrics(registry: Registry): AvailabilityMetrics {
  const unavailable = gauge(registry, {
    name: 'aggregator_unavailable_apiservice',
    help: '[ALPHA] Gauge of APIServices which are marked as unavailable broken down by APIService name.',
    labelNames: ['name'] as const,
  });
  const losses = counter(registry, {
    name: 'aggregator_unavailable_apiservice_total',
    help: '[ALPHA] Counter of APIServices which are marked as unavailable broken down by APIService name and reason.',
    labelNames: ['name', 'reason'] as const,
  });
  return {
    current: (name, available) => unavailable.set({ name }, available ? 0 : 1),
    lost: (name, reason) => losses.inc({ name, reason }),
    gone: (name) => unavailable.remove({ name }),
  };
}
