/** Audit metrics, named as in release 1.24. */
import type { Registry } from 'prom-client';
import type { Level } from '#apiserver/audit/policy.js';
import { PlainCounter } from '#daemon/metrics/plain-series.js';

/** The part that lost an event: a backend, the buffer, or truncation. */
export type AuditPart = 'log' | 'webhook' | 'buffered' | 'truncate';

export class AuditMetrics {
  readonly #events: PlainCounter;
  readonly #errors: PlainCounter;
  readonly #rejected: PlainCounter;
  readonly #levels: PlainCounter;

  constructor(registry: Registry) {
    this.#events = new PlainCounter(registry, {
      name: 'apiserver_audit_event_total',
      help: '[ALPHA] Counter of audit events generated and sent to the audit backend.',
      labelNames: [],
    });
    this.#errors = new PlainCounter(registry, {
      name: 'apiserver_audit_error_total',
      help: '[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.',
      labelNames: ['plugin'],
    });
    this.#rejected = new PlainCounter(registry, {
      name: 'apiserver_audit_requests_rejected_total',
      help: '[ALPHA] Counter of apiserver requests rejected due to an error in audit logging backend.',
      labelNames: [],
    });
    this.#levels = new PlainCounter(registry, {
      name: 'apiserver_audit_level_total',
      help: '[ALPHA] Counter of policy levels for audit events (1 per request).',
      labelNames: ['level'],
    });
    // Like 1.24, expose these series with value 0 from the start.
    this.#events.labels();
    this.#rejected.labels();
  }

  event(): void {
    this.#events.labels().inc();
  }

  /** Counts lost events. */
  lost(part: AuditPart, events = 1): void {
    this.#errors.labels(part).inc(events);
  }

  rejected(): void {
    this.#rejected.labels().inc();
  }

  level(level: Level): void {
    this.#levels.labels(level).inc();
  }
}
