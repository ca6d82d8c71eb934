/** Metrics of the ranges of cluster IPs, named as in 1.24 behind the component's name. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { counter, gauge } from '#daemon/metrics/metric.js';

/** What a range tells of itself. */
export interface RangeMetrics {
  /** So many numbers of the range are taken, and so many are free. */
  counted(taken: number, free: number): void;
  /** A number was handed out. */
  took(): void;
  /** A number could not be had. */
  failed(): void;
}

export function clusterIPMetrics(registry: Registry, dialect: Dialect, cidr: string): RangeMetrics {
  const prefix = `${dialect.components.apiServer.replaceAll('-', '_')}_clusterip_allocator`;
  const labelNames = ['cidr'] as const;
  const labels = { cidr };
  const allocated = gauge(registry, {
    name: `${prefix}_allocated_ips`,
    help: 'Addresses of the range that Services hold, as far as this server has seen.',
    labelNames,
  });
  const available = gauge(registry, {
    name: `${prefix}_available_ips`,
    help: 'Addresses of the range that are free, as far as this server has seen.',
    labelNames,
  });
  const allocations = counter(registry, {
    name: `${prefix}_allocation_total`,
    help: 'Addresses that this server has handed out.',
    labelNames,
  });
  const errors = counter(registry, {
    name: `${prefix}_allocation_errors_total`,
    help: 'Addresses that were asked for and could not be had.',
    labelNames,
  });
  allocations.inc(labels, 0);
  errors.inc(labels, 0);
  return {
    counted(taken, free) {
      allocated.set(labels, taken);
      available.set(labels, free);
    },
    took: () => allocations.inc(labels),
    failed: () => errors.inc(labels),
  };
}
