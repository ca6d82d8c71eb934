/** Spans of what a daemon does, as its parts see them. Daemons that trace nothing have none of this. */
import type { MaybePromise } from '#apimachinery/async/maybe-promise.js';
import type { Logger } from '#daemon/log/logger.js';
import type { TracingConfig } from '#daemon/tracing/tracing-config.js';

export type SpanAttributes = Readonly<Record<string, string | number>>;

export interface ServerSpan {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** W3C's header of the same name, as the client sent it: hostile until read. */
  readonly traceparent: string | undefined;
}

export interface CallSpan {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

export interface Tracer {
  /** Works on a request within a span of its own; `outcome` adds what is known at its end. */
  serve<T>(span: ServerSpan, work: () => MaybePromise<T>, outcome: (result: T) => SpanOutcome): MaybePromise<T>;
  /**
   * Asks somebody else, within the span of the request that is being worked on. `traceparent` is what he is told;
   * undefined, and no span, where there is no request or it is not sampled.
   */
  call<T>(span: CallSpan, work: (traceparent: string | undefined) => Promise<T>): Promise<T>;
  /** Sends what waits, for a moment at most. Never rejects. */
  close(): Promise<void>;
}

export interface SpanOutcome {
  readonly attributes: SpanAttributes;
  readonly failed: boolean;
}

export interface TracerSetup {
  readonly config: TracingConfig;
  /** What the spans are said to be of: `kube-apiserver`. */
  readonly service: string;
  readonly log: Logger;
}
