/** Tracing interface for a daemon's parts. Absent in daemons without tracing. */

import type { Registry } from 'prom-client';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Logger } from '#daemon/log/logger.js';
import type { TracingConfig } from '#daemon/tracing/tracing-config.js';

export type SpanAttributes = Readonly<Record<string, string | number>>;

export interface ServerSpan {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** The client's `traceparent` header; untrusted. */
  readonly traceparent: string | undefined;
}

export interface CallSpan {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

export interface SpanOutcome {
  readonly attributes: SpanAttributes;
  readonly failed: boolean;
  /** Why it failed. */
  readonly message?: string | undefined;
}

/** A piece of work that the daemon started by itself. */
export interface WorkSpan {
  /** Runs work; calls to other servers during it belong to this span. */
  within<T>(work: () => T): T;
  /** Runs a part of the work in a child span. */
  part<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Records a part that has just taken `durationMs`. */
  took(name: string, durationMs: number, failed: boolean): void;
  /** Must be called once: a span without an end is never sent. */
  end(outcome: SpanOutcome): void;
}

export interface Tracer {
  /** Handles a request in a span; `outcome` adds attributes at its end. */
  serve<T>(span: ServerSpan, work: () => MaybePromise<T>, outcome: (result: T) => SpanOutcome): MaybePromise<T>;
  /**
   * Calls another server, in a child of the current span. `traceparent` is the header to send; undefined, without a
   * span, if the current work is not traced.
   */
  call<T>(
    span: CallSpan,
    work: (traceparent: string | undefined) => Promise<T>,
    outcome?: (result: T) => SpanOutcome,
  ): Promise<T>;
  /**
   * Starts a trace; undefined if it is not sampled. `key`, the object as `namespace/name`, decides that: daemons with
   * the same share trace the same objects.
   */
  begin(name: string, key: string): WorkSpan | undefined;
  /** Adds attributes to the current span; not called without one. */
  annotate(attributes: () => SpanAttributes): void;
  /** The `traceparent` header for other servers; undefined as for `call`. */
  traceparent(): string | undefined;
  /** Sends queued spans, for a moment at most. Never rejects. */
  close(): Promise<void>;
}

export interface TracerSetup {
  readonly config: TracingConfig;
  /** Service name of the spans: `kube-apiserver`. */
  readonly service: string;
  readonly log: Logger;
  /** Registry for counters; absent: spans are not counted. */
  readonly metrics?: Registry | undefined;
}

/** Metadata that identifies an object. */
export interface Identity {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/**
 * Span attributes of an object, with the same names in all daemons, so that one query finds everything about it.
 * `resource`: `pods`, `deployments.apps`. Empty values are omitted. Pure.
 */
export function objectAttributes(
  resource: string,
  { namespace = '', name = '', uid = '', resourceVersion = '' }: Identity,
): SpanAttributes {
  return {
    'object.resource': resource,
    ...(namespace === '' ? {} : { 'object.namespace': namespace }),
    ...(name === '' ? {} : { 'object.name': name }),
    ...(uid === '' ? {} : { 'object.uid': uid }),
    ...(resourceVersion === '' ? {} : { 'object.resourceVersion': resourceVersion }),
  };
}
