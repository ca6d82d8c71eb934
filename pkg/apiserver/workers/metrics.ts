/** The metrics of several threads as those of one server. */
import { AggregatorRegistry, type Registry } from 'prom-client';
import type { MetricData } from '#apiserver/workers/messages.js';

/** Of what every thread knows by itself, all have the same: sums would be wrong. */
const sameInAll = /_build_info$|^watch_cache_capacity$|_allocator_(allocated|available)_(ips|ports)$/;
/** Of these the first to come counts. */
const first = /^certificate_expiration_timestamp_seconds$/;

/** What a registry has, in a form that can be sent. */
export async function metricsOf(registry: Registry): Promise<MetricData[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as MetricData[];
  return metrics.map(({ name, help, type, values }) => {
    const aggregator = first.test(name) ? 'min' : sameInAll.test(name) ? 'max' : 'sum';
    return { name, help, type, aggregator, values };
  });
}

/** One registry with the sums. */
export function aggregate(metrics: readonly (readonly MetricData[])[]): Registry {
  return AggregatorRegistry.aggregate(metrics as unknown as object[]) as Registry;
}

/** What must not go back when the thread is gone that counted it. */
export function remaining(metrics: readonly MetricData[]): MetricData[] {
  return metrics.filter(({ type }) => type !== 'gauge');
}
