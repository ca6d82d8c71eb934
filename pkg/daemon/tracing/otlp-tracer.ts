/**
 * Sends spans to an OpenTelemetry collector over OTLP and gRPC. Spans are queued, sent in the background, and dropped
 * if the collector is down or slow: requests never wait.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { credentials } from '@grpc/grpc-js';
import {
  type Context,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Registry } from 'prom-client';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { counter } from '#daemon/metrics/metric.js';
import { boundOf, formatTraceparent, parseTraceparent, shareOf, TraceIds } from '#daemon/tracing/trace-ids.js';
import type {
  CallSpan,
  ServerSpan,
  SpanAttributes,
  SpanOutcome,
  Tracer,
  TracerSetup,
  WorkSpan,
} from '#daemon/tracing/tracer.js';

const exportTimeoutMs = 5000;
/** How long a stopping daemon waits for its last spans. */
const closeMs = 1000;

export class OtlpTracer implements Tracer {
  readonly #provider: BasicTracerProvider;
  readonly #tracer: OtelTracer;
  readonly #ids = new TraceIds();
  readonly #bound: number;
  readonly #current = new CurrentSpan();
  readonly #setup: TracerSetup;

  constructor(setup: TracerSetup) {
    this.#setup = setup;
    const { config, service, metrics } = setup;
    const exporter = new OTLPTraceExporter({
      url: targetOf(config.endpoint),
      // As in release 1.24: the collector runs beside the daemon.
      credentials: credentials.createInsecure(),
      timeoutMillis: exportTimeoutMs,
    });
    this.#bound = boundOf(config.samplingRatio);
    const ratio = new TraceIdRatioBasedSampler(config.samplingRatio);
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({ 'service.name': service }),
      // Clients choose a trace's ID, but this daemon's share decides whether it is kept. The decision depends on
      // the ID, so daemons with the same share keep the same traces.
      sampler: new ParentBasedSampler({ root: ratio, remoteParentSampled: ratio }),
      idGenerator: this.#ids,
      spanProcessors: [new SpanQueue(exporter, { timeoutMs: exportTimeoutMs, metrics })],
    });
    this.#tracer = this.#provider.getTracer(service);
  }

  serve<T>(span: ServerSpan, work: () => MaybePromise<T>, outcome: (result: T) => SpanOutcome): MaybePromise<T> {
    const { name, attributes } = span;
    const started = this.#tracer.startSpan(
      name,
      { kind: SpanKind.SERVER, attributes },
      remoteContext(span.traceparent),
    );
    if (!started.isRecording()) return work();
    this.#current.begin();
    const ends = (result: T): T => {
      this.#end(started, outcome(result));
      return result;
    };
    const fails = (error: unknown): never => {
      this.#fail(started, error);
      throw error;
    };
    try {
      const answer = this.#current.within(started, work);
      return answer instanceof Promise ? answer.then(ends, fails) : ends(answer);
    } catch (error) {
      return fails(error);
    }
  }

  async call<T>(
    { name, attributes }: CallSpan,
    work: (traceparent: string | undefined) => Promise<T>,
    outcome?: (result: T) => SpanOutcome,
  ): Promise<T> {
    const parent = this.#current.get();
    if (parent === undefined) return work(undefined);
    const options = { kind: SpanKind.CLIENT, attributes };
    return this.#within(this.#child(parent, name, options), (span) => work(headerOf(span)), outcome);
  }

  begin(name: string, key: string): WorkSpan | undefined {
    const share = shareOf(key);
    if (share >= this.#bound) return undefined;
    const span = this.#ids.withShare(share, () => this.#tracer.startSpan(name, {}, ROOT_CONTEXT));
    this.#current.begin();
    return {
      within: (work) => this.#current.within(span, work),
      part: (part, work) => this.#within(this.#child(span, part), work),
      took: (part, durationMs, failed) => {
        const now = Date.now();
        const step = this.#child(span, part, { startTime: now - durationMs });
        if (failed) step.setStatus({ code: SpanStatusCode.ERROR });
        step.end(now);
      },
      end: (outcome) => this.#end(span, outcome),
    };
  }

  annotate(attributes: () => SpanAttributes): void {
    this.#current.get()?.setAttributes(attributes());
  }

  traceparent(): string | undefined {
    const span = this.#current.get();
    return span && headerOf(span);
  }

  async close(): Promise<void> {
    const { log } = this.#setup;
    const ended = this.#provider.shutdown().catch((err: unknown) => log.debug({ err }, 'cannot send spans'));
    // Do not wait for a collector that does not respond.
    const limit = new Promise<void>((resolve) => setTimeout(resolve, closeMs).unref());
    await Promise.race([ended, limit]);
  }

  #child(parent: Span, name: string, options: Parameters<OtelTracer['startSpan']>[1] = {}): Span {
    return this.#tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, parent));
  }

  async #within<T>(
    span: Span,
    work: (span: Span) => Promise<T>,
    outcome: (result: T) => SpanOutcome = () => well,
  ): Promise<T> {
    this.#current.begin();
    try {
      const result = await this.#current.within(span, () => work(span));
      this.#end(span, outcome(result));
      return result;
    } catch (error) {
      this.#fail(span, error);
      throw error;
    }
  }

  #end(span: Span, { attributes, failed, message }: SpanOutcome): void {
    span.setAttributes(attributes);
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
    span.end();
    this.#current.end();
  }

  #fail(span: Span, error: unknown): void {
    this.#end(span, { attributes: {}, failed: true, message: messageOf(error) });
  }
}

const well: SpanOutcome = { attributes: {}, failed: false };

/** The current span, carried through asynchronous work. */
class CurrentSpan {
  readonly #storage = new AsyncLocalStorage<Span>();
  #open = 0;

  /** Undefined without a span, or if it has ended: work that it started may continue for long. */
  get(): Span | undefined {
    if (this.#open === 0) return undefined;
    const span = this.#storage.getStore();
    return span?.isRecording() === true ? span : undefined;
  }

  within<T>(span: Span, work: () => T): T {
    return this.#storage.run(span, work);
  }

  /** A span starts. */
  begin(): void {
    this.#open += 1;
  }

  /** A span ends. While none is open, Node.js need not track promises. */
  end(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#storage.disable();
  }
}

function headerOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return formatTraceparent({ traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 });
}

function remoteContext(traceparent: string | undefined): Context {
  const parent = parseTraceparent(traceparent);
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled } = parent;
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** The exporter takes URLs, and resolves names by DNS anyway. */
function targetOf(endpoint: string): string {
  return endpoint.startsWith('unix:') ? endpoint : `http://${endpoint.replace(/^dns:\/+/, '')}`;
}

/** Limit of queued spans; further ones are dropped. */
const maxQueueSize = 2048;
/** How long spans wait to be sent together. */
const gatherMs = 1000;
/** The library's result codes of an export. */
const success = 0;

/** Outcome of a span: sent, dropped because the queue was full, or failed because the collector did not accept it. */
type SpanResult = 'sent' | 'dropped' | 'failed';

/** A bounded queue of spans, with counters. */
class SpanQueue implements SpanProcessor {
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
      export: (spans, done) => {
        this.#waiting -= spans.length;
        exporter.export(spans, (result) => {
          this.#count(result.code === success ? 'sent' : 'failed', spans.length);
          done(result);
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
