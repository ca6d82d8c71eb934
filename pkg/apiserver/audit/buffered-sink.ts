/** Buffers events in bounded memory and writes them in batches, so that requests need not wait. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { AuditEvent } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import type { AuditSink, BatchSink } from '#apiserver/audit/sink.js';
import { TokenBucket } from '#client/token-bucket.js';
import type { Logger } from '#daemon/log/logger.js';

export interface BufferOptions {
  /** Limit of buffered events. */
  readonly bufferSize: number;
  readonly maxBatchSize: number;
  /** Longest time before a batch is written; zero or less: batches are written at once. */
  readonly maxWaitMs: number;
  /** Rate of batches per second, and of a burst; absent: no limit. */
  readonly throttle?: { readonly qps: number; readonly burst: number };
  /** Limit of batches written concurrently. */
  readonly parallel: number;
}

export interface BufferedSinkOptions extends BufferOptions {
  readonly sink: BatchSink;
  readonly metrics: AuditMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Limit of the bytes of all buffered events; objects make them large. */
const maxBytes = 64 * 1024 * 1024;
/** Time to write the remaining events when the server closes. */
const closeMs = 5000;
/** Minimum time between two log lines about lost events. */
const logPeriodMs = 10_000;

export class BufferedSink implements AuditSink {
  readonly #options: BufferedSinkOptions;
  readonly #bucket: TokenBucket | undefined;
  readonly #closing = new AbortController();
  #waiting: AuditEvent[] = [];
  #bytes = 0;
  #timer: Timer | undefined;
  readonly #underWay = new Set<Promise<void>>();
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: BufferedSinkOptions) {
    this.#options = options;
    const { throttle, clock } = options;
    this.#bucket = throttle && new TokenBucket({ ...throttle, clock });
  }

  write(event: AuditEvent): void {
    const { bufferSize, maxBatchSize, maxWaitMs, metrics, clock, log } = this.#options;
    const { length } = event.text;
    if (this.#waiting.length >= bufferSize || this.#bytes + length > maxBytes) {
      metrics.lost('buffered');
      if (clock.monotonic() - this.#loggedMs >= logPeriodMs) {
        this.#loggedMs = clock.monotonic();
        log.error({ events: this.#waiting.length }, 'audit events lost: the buffer is full');
      }
      return;
    }
    this.#waiting.push(event);
    this.#bytes += length;
    if (this.#waiting.length >= maxBatchSize || maxWaitMs <= 0) this.#pump();
    else this.#timer ??= clock.setTimer(() => this.#flush(), maxWaitMs);
  }

  /** Writes the buffered events without throttling, within `closeMs`. */
  async close(): Promise<void> {
    const { clock, sink } = this.#options;
    this.#closing.abort();
    this.#flush();
    const over = new AbortController();
    await Promise.race([this.#drained(), clock.sleep(closeMs, over.signal)]);
    over.abort();
    await sink.close();
  }

  async #drained(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pump();
  }

  #pump(): void {
    const { parallel } = this.#options;
    while (this.#waiting.length > 0 && this.#underWay.size < parallel) {
      const work = this.#writeNext().finally(() => {
        this.#underWay.delete(work);
        if (this.#waiting.length > 0) this.#pump();
      });
      this.#underWay.add(work);
    }
  }

  async #writeNext(): Promise<void> {
    const { sink, maxBatchSize } = this.#options;
    // Remove them synchronously: concurrent writes must not share events.
    const events = this.#waiting.splice(0, maxBatchSize);
    try {
      await this.#awaitToken();
      await sink.writeAll(events);
    } catch {
      // The sink has counted and logged the lost events.
    } finally {
      for (const { text } of events) this.#bytes -= text.length;
    }
  }

  async #awaitToken(): Promise<void> {
    const waitMs = this.#bucket?.reserveMs() ?? 0;
    if (waitMs > 0) await this.#options.clock.sleep(waitMs, this.#closing.signal);
  }
}
