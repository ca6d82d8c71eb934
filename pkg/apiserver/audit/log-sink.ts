/** The audit log: one line for each event. */
import { type AuditEvent, legacyLine } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import type { AuditSink, BatchSink } from '#apiserver/audit/sink.js';
import type { Logger } from '#daemon/log/logger.js';

/** Where lines go. */
export interface LineWriter {
  /** Rejects where they are lost. */
  append(lines: string): Promise<void>;
  close(): Promise<void>;
}

export interface LogSinkOptions {
  readonly lines: LineWriter;
  readonly format: 'json' | 'legacy';
  readonly metrics: AuditMetrics;
  readonly log: Logger;
}

export class LogSink implements AuditSink, BatchSink {
  readonly #options: LogSinkOptions;

  constructor(options: LogSinkOptions) {
    this.#options = options;
  }

  write(event: AuditEvent): Promise<void> {
    return this.writeAll([event]);
  }

  async writeAll(events: readonly AuditEvent[]): Promise<void> {
    const { lines, format, metrics, log } = this.#options;
    const text = events.map((event) => (format === 'json' ? event.text : legacyLine(event)));
    try {
      await lines.append(`${text.join('\n')}\n`);
    } catch (err) {
      metrics.lost('log', events.length);
      log.error({ err, events: events.length }, 'Audit events are lost: they cannot be written');
      throw err;
    }
  }

  close(): Promise<void> {
    return this.#options.lines.close();
  }
}
