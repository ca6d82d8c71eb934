/** The series of admission, named as in release 1.24. */
import type { Registry } from 'prom-client';
import type { AdmissionOperation } from '#apiserver/admission/admission.js';
import { PlainHistogram, PlainSummary } from '#daemon/metrics/plain-series.js';

/** The first pass, which may change the object, and the second. */
export type AdmissionStep = 'admit' | 'validate';

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

export class AdmissionMetrics {
  readonly #steps: PlainHistogram;
  readonly #summary: PlainSummary;
  readonly #plugins: PlainHistogram;

  /** @param now Monotonic ms. */
  constructor(registry: Registry, now: () => number) {
    this.#steps = new PlainHistogram(registry, {
      name: 'apiserver_admission_step_admission_duration_seconds',
      help: '[STABLE] Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).',
      labelNames: ['operation', 'rejected', 'type'],
      buckets,
    });
    this.#summary = new PlainSummary(registry, {
      name: 'apiserver_admission_step_admission_duration_seconds_summary',
      help: '[ALPHA] Admission sub-step latency summary in seconds, broken out for each operation and API resource and step type (validate or admit).',
      labelNames: ['operation', 'rejected', 'type'],
      quantiles: [0.5, 0.9, 0.99],
      maxAgeMs: 5 * 3_600_000,
      now,
    });
    this.#plugins = new PlainHistogram(registry, {
      name: 'apiserver_admission_controller_admission_duration_seconds',
      help: '[STABLE] Admission controller latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).',
      labelNames: ['name', 'operation', 'rejected', 'type'],
      buckets,
    });
  }

  step(type: AdmissionStep, operation: AdmissionOperation, rejected: boolean, durationMs: number): void {
    const outcome = String(rejected);
    this.#steps.labels(operation, outcome, type).observe(durationMs / 1000);
    this.#summary.labels(operation, outcome, type).observe(durationMs / 1000);
  }

  plugin(
    name: string,
    { type, operation, rejected }: { type: AdmissionStep; operation: AdmissionOperation; rejected: boolean },
    durationMs: number,
  ): void {
    this.#plugins.labels(name, operation, String(rejected), type).observe(durationMs / 1000);
  }
}
