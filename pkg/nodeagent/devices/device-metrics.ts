/** Counts and times the calls between device plugins and the agent, as 1.24 names them. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { PlainCounter, PlainHistogram } from '#daemon/metrics/plain-series.js';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class DeviceMetrics {
  readonly registrations: PlainCounter;
  readonly allocationSeconds: PlainHistogram;

  constructor(registry: Registry, { components: { nodeAgent: prefix } }: Dialect) {
    const labelNames = ['resource_name'];
    this.registrations = new PlainCounter(registry, {
      name: `${prefix}_device_plugin_registration_total`,
      help: '[ALPHA] Cumulative number of device plugin registrations. Broken down by resource name.',
      labelNames,
    });
    this.allocationSeconds = new PlainHistogram(registry, {
      name: `${prefix}_device_plugin_alloc_duration_seconds`,
      help: '[ALPHA] Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
      ...{ labelNames, buckets },
    });
  }
}
