/**
 * The two series that every request adds to, kept as plain numbers and turned into prom-client's form when they are read:
 * looking a series up by a set of labels for each request would cost more than what the request itself takes out of memory.
 */
import type { Metric, Registry } from 'prom-client';

export interface SeriesOptions {
  readonly registry: Registry;
  readonly requests: { readonly name: string; readonly help: string };
  readonly seconds: { readonly name: string; readonly help: string; readonly buckets: readonly number[] };
}

type Labels = Readonly<Record<string, string>>;

/** What requests of one kind have added up to. */
interface Series {
  readonly labels: Labels;
  readonly byCode: Map<number, number>;
  /** Requests for each bucket, those of smaller ones not included; the last is for what exceeds all. */
  readonly buckets: number[];
  sum: number;
  count: number;
}

interface Value {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export class RequestSeries {
  readonly #options: SeriesOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: SeriesOptions) {
    this.#options = options;
    const { registry, requests, seconds } = options;
    register(registry, { ...requests, type: 'counter', values: () => this.#requestValues() }, this.#series);
    register(registry, { ...seconds, type: 'histogram', values: () => this.#secondValues() }, this.#series);
  }

  has(key: string): boolean {
    return this.#series.has(key);
  }

  /** `key` names the series; its labels are asked for once. */
  add(key: string, labels: () => Labels, { code, seconds }: { readonly code: number; readonly seconds: number }): void {
    const { buckets } = this.#options.seconds;
    let series = this.#series.get(key);
    if (series === undefined) {
      const empty = new Array<number>(buckets.length + 1).fill(0);
      series = { labels: labels(), byCode: new Map(), buckets: empty, sum: 0, count: 0 };
      this.#series.set(key, series);
    }
    series.byCode.set(code, (series.byCode.get(code) ?? 0) + 1);
    let bucket = 0;
    while (bucket < buckets.length && seconds > (buckets[bucket] as number)) bucket++;
    series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
    series.sum += seconds;
    series.count++;
  }

  *#requestValues(): Generator<Value> {
    for (const { labels, byCode } of this.#series.values()) {
      for (const [code, value] of byCode) yield { labels: { ...labels, code }, value };
    }
  }

  *#secondValues(): Generator<Value> {
    const { name, buckets } = this.#options.seconds;
    for (const series of this.#series.values()) {
      const { labels } = series;
      let below = 0;
      for (const [i, le] of buckets.entries()) {
        below += series.buckets[i] ?? 0;
        yield { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below };
      }
      yield { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: series.count };
      yield { metricName: `${name}_sum`, labels, value: series.sum };
      yield { metricName: `${name}_count`, labels, value: series.count };
    }
  }
}

interface Registered {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  readonly values: () => Iterable<Value>;
}

/** As much of prom-client's metrics as a registry asks of them. */
function register(registry: Registry, { name, help, type, values }: Registered, series: Map<string, Series>): void {
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    get: () => Promise.resolve({ name, help, type, aggregator: 'sum', values: [...values()] }),
    reset: () => series.clear(),
  };
  registry.registerMetric(metric as unknown as Metric);
}
