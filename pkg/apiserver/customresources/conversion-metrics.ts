/** Metrics of conversion webhooks, named as in release 1.24. */
import type { Registry } from 'prom-client';
import { exponentialBuckets } from '#daemon/metrics/metric.js';
import { PlainHistogram } from '#daemon/metrics/plain-series.js';

export interface ConversionLabels {
  /** The definition's name. */
  readonly definition: string;
  /** Versions without their group. */
  readonly from: string;
  readonly to: string;
  readonly succeeded: boolean;
}

export class ConversionMetrics {
  readonly #durations: PlainHistogram;

  constructor(registry: Registry) {
    this.#durations = new PlainHistogram(registry, {
      name: 'apiserver_crd_webhook_conversion_duration_seconds',
      help: '[ALPHA] CRD webhook conversion duration in seconds',
      labelNames: ['crd_name', 'from_version', 'succeeded', 'to_version'],
      buckets: exponentialBuckets(0.001, 2, 15),
    });
  }

  converted({ definition, from, to, succeeded }: ConversionLabels, durationMs: number): void {
    this.#durations.labels(definition, from, String(succeeded), to).observe(durationMs / 1000);
  }

  /** Drops the series of a definition that is deleted or no longer served. */
  forget(definition: string): void {
    this.#durations.forget({ crd_name: definition });
  }
}
