/** Removes the objects of events that are too large for the backend (1.24: `audit/plugin/buffered/truncate`). */
import type { AuditEvent } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import type { BatchSink } from '#apiserver/audit/sink.js';
import type { Logger } from '#daemon/log/logger.js';

export interface TruncatingOptions {
  readonly sink: BatchSink;
  readonly maxEventBytes: number;
  readonly maxBatchBytes: number;
  /** The annotation of shortened events. */
  readonly note: string;
  readonly metrics: AuditMetrics;
  readonly log: Logger;
}

export class TruncatingSink implements BatchSink {
  readonly #options: TruncatingOptions;

  constructor(options: TruncatingOptions) {
    this.#options = options;
  }

  async writeAll(events: readonly AuditEvent[]): Promise<void> {
    const { sink, maxBatchBytes } = this.#options;
    let batch: AuditEvent[] = [];
    let size = 0;
    for (const each of events) {
      const event = this.#shortened(each);
      if (event === undefined) continue;
      const bytes = Buffer.byteLength(event.text);
      if (batch.length > 0 && size + bytes > maxBatchBytes) {
        await sink.writeAll(batch);
        batch = [];
        size = 0;
      }
      batch.push(event);
      size += bytes;
    }
    if (batch.length > 0) await sink.writeAll(batch);
  }

  close(): Promise<void> {
    return this.#options.sink.close();
  }

  /** Undefined if the event is too large even without its objects. */
  #shortened(event: AuditEvent): AuditEvent | undefined {
    const { maxEventBytes, note, metrics, log } = this.#options;
    if (Buffer.byteLength(event.text) <= maxEventBytes) return event;
    const shorter = event.withoutObjects(note);
    if (Buffer.byteLength(shorter.text) <= maxEventBytes) return shorter;
    metrics.lost('truncate');
    log.error({ auditId: event.facts.auditID }, 'audit event lost: too large even without its objects');
    return undefined;
  }
}
