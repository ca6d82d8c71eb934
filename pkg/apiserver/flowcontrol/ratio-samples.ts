/** Observations of a ratio over time. */
import type { HistogramSeries } from '#daemon/metrics/plain-series.js';

export interface RatioHistograms {
  readonly samples: HistogramSeries;
  readonly low: HistogramSeries;
  readonly high: HistogramSeries;
}

/**
 * How much of a limit is in use: a sample for each millisecond, and the lowest and highest value within it, as the
 * `…_samples` and `…_watermarks` histograms of 1.24.
 */
export class RatioSamples {
  readonly #histograms: RatioHistograms;
  #value = 0;
  #limit: number;
  #window: number;
  #low = 0;
  #high = 0;

  /** `nowMs`: monotonic. `limit` is above 0. */
  constructor(histograms: RatioHistograms, nowMs: number, limit: number) {
    this.#histograms = histograms;
    this.#window = Math.floor(nowMs);
    this.#limit = limit;
  }

  /** 0 records the time that has passed. */
  add(nowMs: number, delta: number): void {
    this.#advance(nowMs);
    this.#value += delta;
    this.#mark();
  }

  /** Records changes that were noted before, in their order: instants and differences alternating. */
  addAll(changes: Float64Array, count: number): void {
    for (let i = 0; i < count; i += 2) this.add(changes[i] as number, changes[i + 1] as number);
  }

  /** Sets the limit. */
  bound(nowMs: number, limit: number): void {
    this.#advance(nowMs);
    this.#limit = limit;
    this.#mark();
  }

  #mark(): void {
    const ratio = this.#value / this.#limit;
    if (ratio < this.#low) this.#low = ratio;
    else if (ratio > this.#high) this.#high = ratio;
  }

  #advance(nowMs: number): void {
    const window = Math.floor(nowMs);
    const windows = window - this.#window;
    if (windows <= 0) return;
    const { samples, low, high } = this.#histograms;
    const ratio = this.#value / this.#limit;
    samples.observe(ratio, windows);
    low.observe(this.#low);
    high.observe(this.#high);
    if (windows > 1) {
      low.observe(ratio, windows - 1);
      high.observe(ratio, windows - 1);
    }
    this.#window = window;
    this.#low = ratio;
    this.#high = ratio;
  }
}
