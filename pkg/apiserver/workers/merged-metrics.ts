/** Merges the metrics of several processes into those of one server. */
import { AggregatorRegistry, type Registry } from 'prom-client';
import type { MetricData } from '#apiserver/workers/messages.js';

/** Metrics with the same value in every process, such as the store's size; they must not be added up. */
const sharedValues = [
  /_build_info$/,
  /^nodejs_(version_info|eventloop_)/,
  /^process_(max_fds|virtual_memory_max_bytes|uptime_seconds)$/,
  /^(watch_cache_capacity|apiserver_storage_objects|etcd_db_total_size_in_bytes|etcd_object_counts)$/,
  /^aggregator_unavailable_apiservice$/,
  /_allocator_(allocated|available)_(ips|ports)$/,
];
/** Timestamps, of which the earliest counts. */
const timestamps = /^(certificate_expiration_timestamp_seconds|process_start_time_seconds)$/;

/** The registry's metrics in a form that can be sent. */
export async function metricsOf(registry: Registry): Promise<MetricData[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as MetricData[];
  return metrics.map(({ name, help, type, values }) => ({ name, help, type, aggregator: aggregatorOf(name), values }));
}

function aggregatorOf(name: string): string {
  if (timestamps.test(name)) return 'min';
  return sharedValues.some((pattern) => pattern.test(name)) ? 'max' : 'sum';
}

export function aggregate(metrics: readonly (readonly MetricData[])[]): Registry {
  return AggregatorRegistry.aggregate(metrics as unknown as object[]) as Registry;
}

/** The metrics that outlive their process; counters must not decrease. */
export function withoutGauges(metrics: readonly MetricData[]): MetricData[] {
  return metrics.filter(({ type }) => type !== 'gauge');
}
