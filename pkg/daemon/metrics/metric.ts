/** Metrics that several parts of a process share: the first use creates them. */
import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  type Registry,
} from 'prom-client';

export function counter<L extends string>(
  registry: Registry,
  configuration: Omit<CounterConfiguration<L>, 'registers'>,
): Counter<L> {
  const existing = registry.getSingleMetric(configuration.name);
  return existing instanceof Counter ? existing : new Counter({ ...configuration, registers: [registry] });
}

export function gauge<L extends string>(
  registry: Registry,
  configuration: Omit<GaugeConfiguration<L>, 'registers'>,
): Gauge<L> {
  const existing = registry.getSingleMetric(configuration.name);
  return existing instanceof Gauge ? existing : new Gauge({ ...configuration, registers: [registry] });
}

export function histogram<L extends string>(
  registry: Registry,
  configuration: Omit<HistogramConfiguration<L>, 'registers'>,
): Histogram<L> {
  const existing = registry.getSingleMetric(configuration.name);
  return existing instanceof Histogram ? existing : new Histogram({ ...configuration, registers: [registry] });
}

/** `count` bounds from `start`, each `factor` times the previous one (ExponentialBuckets of the 1.24 daemons). */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  // Rounded to ten significant digits so that the bounds read 0.0001, not 0.00009999999999999999.
  return Array.from({ length: count }, (_, i) => Number((start * factor ** i).toPrecision(10)));
}
