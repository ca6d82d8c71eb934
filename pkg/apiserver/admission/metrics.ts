/** The series of admission, named as in release 1.24. */
import type { Registry } from 'prom-client';
import type { AdmissionOperation } from '#apiserver/admission/admission.js';
import { PlainHistogram } from '#daemon/metrics/plain-series.js';

/** The first pass, which may change the object, and the second. */
export type AdmissionStep = 'admit' | 'validate';

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

export class AdmissionMetrics {
  readonly #steps: PlainHistogram;
  readonly #plugins: PlainHistogram;

  constructor(registry: Registry) {
    this.#steps = new PlainHistogram(registry, {
      name: 'apiserver_admission_step_admission_duration_seconds',
      help: 'Time that all admission plugins of a write took together, by the step, the operation and its outcome.',
      labelNames: ['operation', 'rejected', 'type'],
      buckets,
    });
    this.#plugins = new PlainHistogram(registry, {
      name: 'apiserver_admission_controller_admission_duration_seconds',
      help: 'Time that one admission plugin took for a write, by the step, the operation and its outcome.',
      labelNames: ['name', 'operation', 'rejected', 'type'],
      buckets,
    });
  }

  step(type: AdmissionStep, operation: AdmissionOperation, rejected: boolean, durationMs: number): void {
    this.#steps.labels(operation, String(rejected), type).observe(durationMs / 1000);
  }

  plugin(
    name: string,
    { type, operation, rejected }: { type: AdmissionStep; operation: AdmissionOperation; rejected: boolean },
    durationMs: number,
  ): void {
    this.#plugins.labels(name, operation, String(rejected), type).observe(durationMs / 1000);
  }
}
