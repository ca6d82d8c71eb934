/** Sends batches of events to an audit webhook as an `EventList`. */
import type { AuditEvent } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import type { AuditSink, BatchSink } from '#apiserver/audit/sink.js';
import type { WebhookBackend } from '#apiserver/webhooks/backend/backend.js';
import type { Logger } from '#daemon/log/logger.js';

export interface WebhookSinkOptions {
  /** Its retries are those of every sent batch. */
  readonly backend: WebhookBackend;
  readonly apiVersion: string;
  readonly metrics: AuditMetrics;
  readonly log: Logger;
}

export class WebhookSink implements AuditSink, BatchSink {
  readonly #options: WebhookSinkOptions;

  constructor(options: WebhookSinkOptions) {
    this.#options = options;
  }

  write(event: AuditEvent): Promise<void> {
    return this.writeAll([event]);
  }

  async writeAll(events: readonly AuditEvent[]): Promise<void> {
    const { apiVersion, backend, metrics, log } = this.#options;
    const items = events.map(({ text }) => text).join(',');
    try {
      await backend.send(`{"kind":"EventList","apiVersion":"${apiVersion}","metadata":{},"items":[${items}]}`);
    } catch (err) {
      metrics.lost('webhook', events.length);
      log.error({ err, events: events.length }, 'audit events lost: the webhook call failed');
      throw err;
    }
  }

  /** Ends retries. */
  close(): Promise<void> {
    return this.#options.backend.close();
  }
}
