/**
 * Quantiles for hot paths. An observation is one addition to one of many narrow buckets, so quantiles are right to within
 * three hundredths of their value. They are those of the last hours, as release 1.24 gives them: what is older is dropped
 * a fifth at a time.
 */
import type { Registry } from 'prom-client';
import { PlainMetric, type SeriesConfiguration, type SeriesValue } from '#daemon/metrics/plain-series.js';

export interface SummaryConfiguration extends SeriesConfiguration {
  /** Each within (0, 1). */
  readonly quantiles: readonly number[];
  readonly maxAgeMs: number;
  /** Monotonic ms. */
  readonly now: () => number;
}

const ages = 5;
/** Buckets to each doubling. */
const steps = 32;
/** Seconds; what is less counts as this. */
const least = 1e-6;
/** Up to 4,000 s. */
const bucketCount = 32 * steps;

/** One series of a summary. */
class SummarySeries {
  readonly #ageMs: number;
  readonly #now: () => number;
  /** The newest first. */
  readonly #counts: Uint32Array[] = [new Uint32Array(bucketCount)];
  #sinceMs: number;
  sum = 0;
  count = 0;

  constructor({ maxAgeMs, now }: Pick<SummaryConfiguration, 'maxAgeMs' | 'now'>) {
    this.#ageMs = maxAgeMs / ages;
    this.#now = now;
    this.#sinceMs = now();
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

  /** NaN where nothing was observed in that time. */
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
    const over = Math.floor((this.#now() - this.#sinceMs) / this.#ageMs);
    if (over < 1) return;
    this.#sinceMs += over * this.#ageMs;
    for (let i = 0; i < Math.min(over, ages); i++) this.#counts.unshift(new Uint32Array(bucketCount));
    this.#counts.length = Math.min(this.#counts.length, ages);
  }
}

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
