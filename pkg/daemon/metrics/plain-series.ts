/**
 * Counters and histograms for hot paths: plain numbers, converted to prom-client's form at each scrape. A caller looks
 * a series up once and keeps it; prom-client would sort and join the labels at each addition.
 */
import type { Metric, Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';

export interface SeriesConfiguration {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';
type Labels = Readonly<Record<string, string>>;

export interface SeriesValue {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** One series of a counter or gauge. */
export class CounterSeries {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }
}

/** One series of a histogram. */
export class HistogramSeries {
  readonly #bounds: readonly number[];
  /** Count per bucket, not cumulative; the last bucket is unbounded. */
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number, times = 1): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    this.counts[bucket] = (this.counts[bucket] as number) + times;
    this.sum += value * times;
    this.count += times;
  }

  /** Adds the counts of a histogram with the same buckets. */
  add(other: HistogramSeries): void {
    for (const [i, count] of other.counts.entries()) this.counts[i] = (this.counts[i] as number) + count;
    this.sum += other.sum;
    this.count += other.count;
  }

  /** In prom-client's form, with cumulative buckets. */
  *values(name: string, labels: Labels): Generator<SeriesValue> {
    let below = 0;
    for (const [i, le] of this.#bounds.entries()) {
      below += this.counts[i] as number;
      yield { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below };
    }
    yield { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: this.count };
    yield { metricName: `${name}_sum`, labels, value: this.sum };
    yield { metricName: `${name}_count`, labels, value: this.count };
  }
}

/** A node of the label tree: all series that share the values so far. */
class Branch<S> {
  /** Children by the value of the next label. */
  readonly below = new Map<string, Branch<S>>();
  series: S | undefined;
}

/** All series of one metric. */
abstract class PlainMetric<S> {
  readonly #labelNames: readonly string[];
  /** Indexed label by label: a joined key would have to be built at each lookup. */
  #root = new Branch<S>();
  #all: [Labels, S][] = [];

  constructor(registry: Registry, type: MetricType, configuration: SeriesConfiguration) {
    const { name, help, labelNames = [] } = configuration;
    this.#labelNames = labelNames;
    registerMetric(registry, {
      name,
      help,
      type,
      values: () => this.values(),
      reset: () => {
        this.#root = new Branch();
        this.#all = [];
      },
    });
  }

  /** The series with these label values, in the order of the label names. Callers on hot paths keep it. */
  labels(...values: readonly string[]): S {
    const branch = this.#branch(values);
    if (branch.series === undefined) {
      const labels = Object.fromEntries(this.#labelNames.map((name, i) => [name, values[i] ?? '']));
      branch.series = this.create();
      this.#all.push([labels, branch.series]);
    }
    return branch.series;
  }

  /** Drops the series with these label values; a kept reference no longer counts. */
  forget(of: Labels): void {
    const pairs = Object.entries(of);
    const remaining = this.#all.filter(([labels]) => pairs.some(([name, value]) => labels[name] !== value));
    if (remaining.length === this.#all.length) return;
    this.#all = remaining;
    this.#root = new Branch();
    for (const [labels, series] of remaining)
      this.#branch(this.#labelNames.map((name) => labels[name] ?? '')).series = series;
  }

  #branch(values: readonly string[]): Branch<S> {
    let branch = this.#root;
    for (const value of values) {
      let next = branch.below.get(value);
      if (next === undefined) {
        next = new Branch();
        branch.below.set(value, next);
      }
      branch = next;
    }
    return branch;
  }

  protected entries(): Iterable<readonly [Labels, S]> {
    return this.#all;
  }

  protected abstract create(): S;
  protected abstract values(): Iterable<SeriesValue>;
}

export class PlainCounter extends PlainMetric<CounterSeries> {
  constructor(registry: Registry, configuration: SeriesConfiguration, type: 'counter' | 'gauge' = 'counter') {
    super(registry, type, configuration);
  }

  protected create(): CounterSeries {
    return new CounterSeries();
  }

  protected *values(): Generator<SeriesValue> {
    for (const [labels, { value }] of this.entries()) yield { labels, value };
  }
}

export class PlainGauge extends PlainCounter {
  constructor(registry: Registry, configuration: SeriesConfiguration) {
    super(registry, configuration, 'gauge');
  }
}

export class PlainHistogram extends PlainMetric<HistogramSeries> {
  readonly #name: string;
  readonly #buckets: readonly number[];

  constructor(registry: Registry, configuration: SeriesConfiguration & { readonly buckets: readonly number[] }) {
    super(registry, 'histogram', configuration);
    this.#name = configuration.name;
    this.#buckets = configuration.buckets;
  }

  protected create(): HistogramSeries {
    return new HistogramSeries(this.#buckets);
  }

  protected *values(): Generator<SeriesValue> {
    for (const [labels, series] of this.entries()) yield* series.values(this.#name, labels);
  }
}

interface Registered {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly values: () => Iterable<SeriesValue>;
  readonly reset: () => void;
}

/** Registers the part of a prom-client metric that a registry uses. */
export function registerMetric(registry: Registry, { name, help, type, values, reset }: Registered): void {
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    get: () => Promise.resolve({ name, help, type, aggregator: 'sum', values: [...values()] }),
    reset,
  };
  registry.registerMetric(metric as unknown as Metric);
}

export interface SummaryConfiguration extends SeriesConfiguration {
  /** Each in (0, 1). */
  readonly quantiles: readonly number[];
  readonly maxAgeMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

const ages = 5;
/** Buckets per doubling. */
const steps = 32;
/** Smallest observed value, in seconds. */
const least = 1e-6;
/** Covers up to 4,000 s. */
const bucketCount = 32 * steps;

/** One series of a summary. */
class SummarySeries {
  readonly #ageMs: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Newest first. */
  readonly #counts: Uint32Array[] = [new Uint32Array(bucketCount)];
  #sinceMs: number;
  sum = 0;
  count = 0;

  constructor({ maxAgeMs, clock }: Pick<SummaryConfiguration, 'maxAgeMs' | 'clock'>) {
    this.#ageMs = maxAgeMs / ages;
    this.#clock = clock;
    this.#sinceMs = clock.monotonic();
  }

  observe(seconds: number): void {
    this.#rotate();
    const bucket = seconds <= least ? 0 : Math.floor(Math.log2(seconds / least) * steps);
    const counts = this.#counts[0] as Uint32Array;
    const at = Math.min(bucket, bucketCount - 1);
    counts[at] = (counts[at] as number) + 1;
    this.sum += seconds;
    this.count++;
  }

  /** NaN without observations in the window. */
  quantile(part: number): number {
    this.#rotate();
    let total = 0;
    for (const counts of this.#counts) for (const count of counts) total += count;
    let left = Math.ceil(part * total);
    if (total === 0) return Number.NaN;
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      for (const counts of this.#counts) left -= counts[bucket] as number;
      if (left <= 0) return least * 2 ** ((bucket + 0.5) / steps);
    }
    return Number.NaN;
  }

  #rotate(): void {
    const over = Math.floor((this.#clock.monotonic() - this.#sinceMs) / this.#ageMs);
    if (over < 1) return;
    this.#sinceMs += over * this.#ageMs;
    for (let i = 0; i < Math.min(over, ages); i++) this.#counts.unshift(new Uint32Array(bucketCount));
    this.#counts.length = Math.min(this.#counts.length, ages);
  }
}

/**
 * Quantiles over a sliding window, as in release 1.24. An observation increments one of many narrow buckets, which
 * makes quantiles exact to three percent. Data expires one fifth of the window at a time.
 */
export class PlainSummary extends PlainMetric<SummarySeries> {
  readonly #configuration: SummaryConfiguration;

  constructor(registry: Registry, configuration: SummaryConfiguration) {
    super(registry, 'summary', configuration);
    this.#configuration = configuration;
  }

  protected create(): SummarySeries {
    return new SummarySeries(this.#configuration);
  }

  protected *values(): Generator<SeriesValue> {
    const { name, quantiles } = this.#configuration;
    for (const [labels, series] of this.entries()) {
      for (const quantile of quantiles) yield { labels: { quantile, ...labels }, value: series.quantile(quantile) };
      yield { metricName: `${name}_sum`, labels, value: series.sum };
      yield { metricName: `${name}_count`, labels, value: series.count };
    }
  }
}
