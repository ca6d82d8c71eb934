/** The queue of spans that wait to be sent: limited in length, and counted. */
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Registry } from 'prom-client';
import { counter } from '#daemon/metrics/metric.js';

/** Spans that may wait; further ones are dropped. */
const maxQueueSize = 2048;
/** How long they wait for others to be sent with them. */
const gatherMs = 1000;
/** The library's results of an export. */
const success = 0;

/** What became of a span: it was sent, was dropped since too many waited, or the collector did not take it. */
type SpanResult = 'sent' | 'dropped' | 'failed';

export class SpanQueue implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  readonly #count: (result: SpanResult, spans: number) => void;
  #waiting = 0;

  constructor(exporter: SpanExporter, { timeoutMs, metrics }: { timeoutMs: number; metrics: Registry | undefined }) {
    this.#count = counting(metrics);
    this.#batches = new BatchSpanProcessor(this.#counted(exporter), {
      maxQueueSize,
      scheduledDelayMillis: gatherMs,
      exportTimeoutMillis: timeoutMs,
    });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= maxQueueSize) return this.#count('dropped', 1);
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  #counted(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, told) => {
        this.#waiting -= spans.length;
        exporter.export(spans, (result) => {
          this.#count(result.code === success ? 'sent' : 'failed', spans.length);
          told(result);
        });
      },
      shutdown: () => exporter.shutdown(),
      ...(exporter.forceFlush && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
    };
  }
}

function counting(metrics: Registry | undefined): (result: SpanResult, spans: number) => void {
  if (metrics === undefined) return () => undefined;
  const spans = counter(metrics, {
    name: 'tracing_spans_total',
    help: 'Spans by what became of them: sent, dropped because too many waited, or failed because the collector did not take them',
    labelNames: ['result'],
  });
  for (const result of ['sent', 'dropped', 'failed'] satisfies SpanResult[]) spans.inc({ result }, 0);
  return (result, count) => spans.inc({ result }, count);
}
