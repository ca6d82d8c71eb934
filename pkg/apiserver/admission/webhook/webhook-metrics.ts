/** Metrics of admission webhooks, named as in release 1.24. */
import type { Registry } from 'prom-client';
import type { AdmissionOperation } from '#apiserver/admission/admission.js';
import { PlainCounter, PlainHistogram } from '#daemon/metrics/plain-series.js';

/** 1.24 labels mutating webhooks `admit`, and the others `validating`. */
export type WebhookStep = 'admit' | 'validating';
export type RejectionError = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';

export interface WebhookCallLabels {
  readonly name: string;
  readonly type: WebhookStep;
  readonly operation: AdmissionOperation;
}

/** Higher codes are not HTTP codes; the limit bounds the number of series. */
const maxCode = 600;

export class WebhookMetrics {
  readonly #durations: PlainHistogram;
  readonly #requests: PlainCounter;
  readonly #rejections: PlainCounter;
  readonly #failOpen: PlainCounter;

  constructor(registry: Registry) {
    this.#durations = new PlainHistogram(registry, {
      name: 'apiserver_admission_webhook_admission_duration_seconds',
      help: '[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).',
      labelNames: ['name', 'operation', 'rejected', 'type'],
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5],
    });
    this.#requests = new PlainCounter(registry, {
      name: 'apiserver_admission_webhook_request_total',
      help: '[ALPHA] Admission webhook request total, identified by name and broken out for each admission type (validating or mutating) and operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.',
      labelNames: ['code', 'name', 'operation', 'rejected', 'type'],
    });
    this.#rejections = new PlainCounter(registry, {
      name: 'apiserver_admission_webhook_rejection_count',
      help: '[ALPHA] Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.',
      labelNames: ['error_type', 'name', 'operation', 'rejection_code', 'type'],
    });
    this.#failOpen = new PlainCounter(registry, {
      name: 'apiserver_admission_webhook_fail_open_count',
      help: '[ALPHA] Admission webhook fail open count, identified by name and broken out for each admission type (validating or mutating).',
      labelNames: ['name', 'type'],
    });
  }

  called(
    { name, type, operation }: WebhookCallLabels,
    { code, rejected, durationMs }: { readonly code: number; readonly rejected: boolean; readonly durationMs: number },
  ): void {
    this.#durations.labels(name, operation, String(rejected), type).observe(durationMs / 1000);
    this.#requests.labels(shownCode(code), name, operation, String(rejected), type).inc();
  }

  rejected({ name, type, operation }: WebhookCallLabels, error: RejectionError, code: number): void {
    this.#rejections.labels(error, name, operation, shownCode(code), type).inc();
  }

  failedOpen(name: string, type: WebhookStep): void {
    this.#failOpen.labels(name, type).inc();
  }
}

function shownCode(code: number): string {
  return String(Math.min(code, maxCode));
}
