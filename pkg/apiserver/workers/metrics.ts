/** The metrics of several processes as those of one server. */
import { AggregatorRegistry, type Registry } from 'prom-client';
import type { MetricData } from '#apiserver/workers/messages.js';

/** Each process measures the same thing outside of itself, or a state that is not a quantity: a sum would be wrong. */
const sameInAll = [
  /_build_info$/,
  /^nodejs_(version_info|eventloop_)/,
  /^process_(max_fds|virtual_memory_max_bytes|uptime_seconds)$/,
  /^(watch_cache_capacity|apiserver_storage_objects|etcd_db_total_size_in_bytes|etcd_object_counts)$/,
  /^aggregator_unavailable_apiservice$/,
  /_allocator_(allocated|available)_(ips|ports)$/,
];
/** Of these the earliest counts. */
const earliest = /^(certificate_expiration_timestamp_seconds|process_start_time_seconds)$/;

/** The content of a registry in a form that can be sent. */
export async function metricsOf(registry: Registry): Promise<MetricData[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as MetricData[];
  return metrics.map(({ name, help, type, values }) => ({ name, help, type, aggregator: aggregatorOf(name), values }));
}

function aggregatorOf(name: string): string {
  if (earliest.test(name)) return 'min';
  return sameInAll.some((pattern) => pattern.test(name)) ? 'max' : 'sum';
}

/** One registry with the sums. */
export function aggregate(metrics: readonly (readonly MetricData[])[]): Registry {
  return AggregatorRegistry.aggregate(metrics as unknown as object[]) as Registry;
}

/** The counts of a process that has ended: they must not go back. */
export function remaining(metrics: readonly MetricData[]): MetricData[] {
  return metrics.filter(({ type }) => type !== 'gauge');
}
