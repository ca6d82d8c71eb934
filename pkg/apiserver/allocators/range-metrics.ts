/** Metrics of the ranges of cluster IPs, named as in 1.24 after the component's name. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { counter, gauge } from '#daemon/metrics/metric.js';

/** Events of a range. */
export interface RangeMetrics {
  /** Numbers of the range that are allocated and free. */
  counted(allocated: number, free: number): void;
  /** A number was allocated. */
  succeeded(): void;
  /** An allocation failed. */
  failed(): void;
}

export function clusterIPMetrics(registry: Registry, dialect: Dialect, cidr: string): RangeMetrics {
  const prefix = `${dialect.components.apiServer.replaceAll('-', '_')}_clusterip_allocator`;
  const labelNames = ['cidr'] as const;
  const labels = { cidr };
  const allocated = gauge(registry, {
    name: `${prefix}_allocated_ips`,
    help: '[ALPHA] Gauge measuring the number of allocated IPs for Services',
    labelNames,
  });
  const available = gauge(registry, {
    name: `${prefix}_available_ips`,
    help: '[ALPHA] Gauge measuring the number of available IPs for Services',
    labelNames,
  });
  const allocations = counter(registry, {
    name: `${prefix}_allocation_total`,
    help: '[ALPHA] Number of Cluster IPs allocations',
    labelNames,
  });
  const errors = counter(registry, {
    name: `${prefix}_allocation_errors_total`,
    help: '[ALPHA] Number of errors trying to allocate Cluster IPs',
    labelNames,
  });
  allocations.inc(labels, 0);
  errors.inc(labels, 0);
  return {
    counted(used, free) {
      allocated.set(labels, used);
      available.set(labels, free);
    },
    succeeded: () => allocations.inc(labels),
    failed: () => errors.inc(labels),
  };
}
