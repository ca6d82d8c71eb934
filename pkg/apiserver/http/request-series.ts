/**
 * The two series that every request adds to, kept as plain numbers and turned into prom-client's form when they are read:
 * looking a series up by a set of labels for each request would cost more than what the request itself takes out of memory.
 */
import type { Registry } from 'prom-client';
import { HistogramSeries, registerMetric, type SeriesValue } from '#daemon/metrics/plain-series.js';

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
  readonly seconds: HistogramSeries;
}

export class RequestSeries {
  readonly #options: SeriesOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: SeriesOptions) {
    this.#options = options;
    const { registry, requests, seconds } = options;
    const reset = () => this.#series.clear();
    const { name, help } = seconds;
    registerMetric(registry, { ...requests, type: 'counter', values: () => this.#requestValues(), reset });
    registerMetric(registry, { name, help, type: 'histogram', values: () => this.#secondValues(), reset });
  }

  has(key: string): boolean {
    return this.#series.has(key);
  }

  /** `key` names the series; its labels are asked for once. */
  add(key: string, labels: () => Labels, { code, seconds }: { readonly code: number; readonly seconds: number }): void {
    let series = this.#series.get(key);
    if (series === undefined) {
      const { buckets } = this.#options.seconds;
      series = { labels: labels(), byCode: new Map(), seconds: new HistogramSeries(buckets) };
      this.#series.set(key, series);
    }
    series.byCode.set(code, (series.byCode.get(code) ?? 0) + 1);
    series.seconds.observe(seconds);
  }

  *#requestValues(): Generator<SeriesValue> {
    for (const { labels, byCode } of this.#series.values()) {
      for (const [code, value] of byCode) yield { labels: { ...labels, code }, value };
    }
  }

  *#secondValues(): Generator<SeriesValue> {
    const { name } = this.#options.seconds;
    for (const { labels, seconds } of this.#series.values()) yield* seconds.values(name, labels);
  }
}
