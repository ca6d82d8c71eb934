/** The metrics of zones and evictions, named as in 1.24. */
import type { ControllerMetrics, GaugeSample } from '#controllers/framework/metrics.js';
import type { ZoneSize, Zones } from '#controllers/nodelifecycle/zones.js';

const evictions = 'Number of Node evictions that happened since current instance of NodeController started';

/** Computes the gauges of zones at each scrape. Returns the function that removes them. */
export function registerZones(metrics: ControllerMetrics, zones: Zones): () => void {
  const gauge = (name: string, help: string, value: (zone: ZoneSize) => number) =>
    metrics.gauge({ name: `node_collector_${name}`, help, labelNames: ['zone'] }, () =>
      zones.sizes().map((zone): GaugeSample => ({ labels: { zone: zone.name }, value: value(zone) })),
    );
  const ends = [
    gauge(
      'zone_health',
      'Gauge measuring percentage of healthy nodes per zone.',
      ({ size, notReady }) => (100 * (size - notReady)) / size,
    ),
    gauge('zone_size', 'Gauge measuring number of registered Nodes per zones.', ({ size }) => size),
    gauge(
      'unhealthy_nodes_in_zone',
      'Gauge measuring number of not Ready Nodes per zones.',
      ({ notReady }) => notReady,
    ),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** Counts nodes whose pods are evicted; an amount of zero creates the series. */
export function countEvictions(metrics: ControllerMetrics, zone: string, amount: number): void {
  metrics.count('node_collector_evictions_total', `${evictions}.`, { zone }, amount);
  const replaced = 'This metric is replaced by node_collector_evictions_total.';
  const help = `(Deprecated since 1.24.0) ${evictions}, ${replaced}`;
  metrics.count('node_collector_evictions_number', help, { zone }, amount);
}
