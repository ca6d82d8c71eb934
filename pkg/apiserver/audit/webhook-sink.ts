/** Sends batches of events to an audit webhook as an `EventList`, with retries. */
import type { Clock } from '#apimachinery/clock.js';
import type { AuditEvent } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import type { AuditSink, BatchSink } from '#apiserver/audit/sink.js';
import type { Transport } from '#client/rest/transport.js';
import type { Logger } from '#daemon/log/logger.js';

export interface WebhookSinkOptions {
  readonly transport: Transport;
  /** Path appended to the transport's base path. */
  readonly path: string;
  readonly apiVersion: string;
  /** Delay before the second attempt; it grows by half with each further one. */
  readonly initialBackoffMs: number;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly metrics: AuditMetrics;
  readonly log: Logger;
}

/** Limit of attempts, as in 1.24. */
const attempts = 5;
const factor = 1.5;
const jitter = 0.2;
/** Limit of bytes read of a response before it is dropped. */
const maxResponseBytes = 64 * 1024;
const timeoutMs = 30_000;

export class WebhookSink implements AuditSink, BatchSink {
  readonly #options: WebhookSinkOptions;
  readonly #closing = new AbortController();

  constructor(options: WebhookSinkOptions) {
    this.#options = options;
  }

  write(event: AuditEvent): Promise<void> {
    return this.writeAll([event]);
  }

  async writeAll(events: readonly AuditEvent[]): Promise<void> {
    const { apiVersion, metrics, log, clock, random, initialBackoffMs } = this.#options;
    const items = events.map(({ text }) => text).join(',');
    const body = `{"kind":"EventList","apiVersion":"${apiVersion}","metadata":{},"items":[${items}]}`;
    let backoffMs = initialBackoffMs;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#send(body);
        return;
      } catch (err) {
        const isOver =
          attempt === attempts || this.#closing.signal.aborted || (err as WebhookStatusError).final === true;
        if (isOver) {
          metrics.lost('webhook', events.length);
          log.error({ err, events: events.length }, 'audit events lost: the webhook call failed');
          throw err;
        }
      }
      await clock.sleep(backoffMs * (1 + random() * jitter), this.#closing.signal);
      backoffMs *= factor;
    }
  }

  /** Ends retries. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#options.transport.close();
  }

  async #send(body: string): Promise<void> {
    const { transport, path, clock } = this.#options;
    const ending = new AbortController();
    const timer = clock.setTimer(
      () => ending.abort(new Error(`the audit webhook did not respond within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    try {
      const { status, body: response } = await transport.request({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', accept: 'application/json, */*' },
        body,
        signal: ending.signal,
      });
      let size = 0;
      for await (const part of response) {
        size += part.length;
        if (size > maxResponseBytes) break;
      }
      if (status < 200 || status > 206) throw new WebhookStatusError(status);
    } finally {
      timer.cancel();
    }
  }
}

class WebhookStatusError extends Error {
  override readonly name = 'AuditWebhookError';
  /** True if retrying is useless. */
  readonly final: boolean;

  constructor(status: number) {
    super(`the audit webhook answered with status ${status}`);
    this.final = status !== 429 && status < 500;
  }
}
