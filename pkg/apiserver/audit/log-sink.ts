/** The audit log: one line for each event. */

import { createWriteStream, type WriteStream } from 'node:fs';
import { type AuditEvent, legacyLine } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import type { AuditSink, BatchSink } from '#apiserver/audit/sink.js';
import type { Logger } from '#daemon/log/logger.js';

export interface LineWriter {
  /** Rejects if the lines are lost. */
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
      log.error({ err, events: events.length }, 'audit events lost: writing failed');
      throw err;
    }
  }

  close(): Promise<void> {
    return this.#options.lines.close();
  }
}

const standardOutput = 1;
/** Limit of bytes that wait for the reader; further lines are lost. */
const maxWaitingBytes = 16 * 1024 * 1024;

/** Writes the audit log to standard output (`-`). */
export class StandardOutput implements LineWriter {
  readonly #stream: WriteStream = createWriteStream('', { fd: standardOutput, autoClose: false });

  append(lines: string): Promise<void> {
    if (this.#stream.writableLength > maxWaitingBytes) {
      return Promise.reject(new Error(`more than ${maxWaitingBytes} bytes wait to be read from standard output`));
    }
    return new Promise((resolve, reject) => {
      this.#stream.write(lines, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Does nothing: standard output stays open. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
