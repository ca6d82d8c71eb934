/**
 * Spans to an OpenTelemetry collector, over OTLP and gRPC. They wait in a queue of limited length, are sent beside the work,
 * and are dropped where the collector is away or slow: no request ever waits for it.
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
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { MaybePromise } from '#apimachinery/async/maybe-promise.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { formatTraceparent, parseTraceparent } from '#daemon/tracing/traceparent.js';
import type { CallSpan, ServerSpan, SpanOutcome, Tracer, TracerSetup } from '#daemon/tracing/tracer.js';

/** Spans that may wait; further ones are dropped. */
const maxQueueSize = 2048;
const exportTimeoutMs = 5000;
/** How long they wait for others to be sent with them. */
const gatherMs = 1000;
/** How long the end of a daemon waits for what is left to be sent. */
const closeMs = 1000;

export class OtlpTracer implements Tracer {
  readonly #provider: BasicTracerProvider;
  readonly #tracer: OtelTracer;
  /** The span of the request that is being worked on. */
  readonly #current = new AsyncLocalStorage<Context>();
  readonly #setup: TracerSetup;

  constructor(setup: TracerSetup) {
    this.#setup = setup;
    const { config, service } = setup;
    const exporter = new OTLPTraceExporter({
      url: targetOf(config.endpoint),
      // As release 1.24 does: a collector is beside the daemon.
      credentials: credentials.createInsecure(),
      timeoutMillis: exportTimeoutMs,
    });
    const ratio = new TraceIdRatioBasedSampler(config.samplingRatio);
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({ 'service.name': service }),
      // A client may say which trace a request is of, but not that it is to be kept: the share is this daemon's. It is
      // reckoned from the trace's ID, so that daemons with the same share keep the same traces.
      sampler: new ParentBasedSampler({ root: ratio, remoteParentSampled: ratio }),
      spanProcessors: [
        new BatchSpanProcessor(exporter, {
          maxQueueSize,
          scheduledDelayMillis: gatherMs,
          exportTimeoutMillis: exportTimeoutMs,
        }),
      ],
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
    const ends = (result: T): T => {
      const { attributes, failed } = outcome(result);
      started.setAttributes(attributes);
      if (failed) started.setStatus({ code: SpanStatusCode.ERROR });
      started.end();
      return result;
    };
    const fails = (error: unknown): never => {
      failedWith(started, error);
      throw error;
    };
    try {
      const answer = this.#current.run(trace.setSpan(ROOT_CONTEXT, started), work);
      return answer instanceof Promise ? answer.then(ends, fails) : ends(answer);
    } catch (error) {
      return fails(error);
    }
  }

  async call<T>({ name, attributes }: CallSpan, work: (traceparent: string | undefined) => Promise<T>): Promise<T> {
    const parent = this.#current.getStore();
    if (parent === undefined || trace.getSpan(parent)?.isRecording() !== true) return work(undefined);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
    const { traceId, spanId, traceFlags } = span.spanContext();
    const sampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
    try {
      const result = await work(formatTraceparent({ traceId, spanId, sampled }));
      span.end();
      return result;
    } catch (error) {
      failedWith(span, error);
      throw error;
    }
  }

  async close(): Promise<void> {
    const { log } = this.#setup;
    const ended = this.#provider.shutdown().catch((err: unknown) => log.debug({ err }, 'Spans were not sent'));
    // A collector that does not answer holds nobody up.
    const limit = new Promise<void>((resolve) => setTimeout(resolve, closeMs).unref());
    await Promise.race([ended, limit]);
  }
}

function failedWith(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
  span.end();
}

function remoteContext(traceparent: string | undefined): Context {
  const parent = parseTraceparent(traceparent);
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled } = parent;
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** The exporter takes URLs; names are looked up by DNS anyway. */
function targetOf(endpoint: string): string {
  return endpoint.startsWith('unix:') ? endpoint : `http://${endpoint.replace(/^dns:\/+/, '')}`;
}
