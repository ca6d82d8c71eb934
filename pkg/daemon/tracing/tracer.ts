/** Spans of what a daemon does, as its parts see them. Daemons that trace nothing have none of this. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Logger } from '#daemon/log/logger.js';
import type { TracingConfig } from '#daemon/tracing/tracing-config.js';
import type { Registry } from 'prom-client';

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

export interface SpanOutcome {
  readonly attributes: SpanAttributes;
  readonly failed: boolean;
  /** Why it failed. */
  readonly message?: string | undefined;
}

/** A piece of work that nobody has asked for: the daemon has begun it by itself. */
export interface WorkSpan {
  /** Does it, or a part of it: what is asked of others meanwhile belongs to it. */
  within<T>(work: () => T): T;
  /** Does a part of it within a span of its own. */
  part<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** A part of it took so long (ms) until now. */
  took(name: string, durationMs: number, failed: boolean): void;
  /** To be called once: a span that does not end is never sent. */
  end(outcome: SpanOutcome): void;
}

export interface Tracer {
  /** Works on a request within a span of its own; `outcome` adds what is known at its end. */
  serve<T>(span: ServerSpan, work: () => MaybePromise<T>, outcome: (result: T) => SpanOutcome): MaybePromise<T>;
  /**
   * Asks somebody else, within the span of what is being worked on. `traceparent` is what he is told; undefined, and no
   * span, where nothing is being worked on or that is not sampled.
   */
  call<T>(
    span: CallSpan,
    work: (traceparent: string | undefined) => Promise<T>,
    outcome?: (result: T) => SpanOutcome,
  ): Promise<T>;
  /**
   * Begins a trace; undefined where it is not sampled. `key` decides that: the object that the work is on, as
   * `namespace/name`. All daemons with the same share decide alike, so that an object that one of them follows is followed
   * by all.
   */
  begin(name: string, key: string): WorkSpan | undefined;
  /** Adds to the span of what is being worked on; `attributes` is not called where there is none. */
  annotate(attributes: () => SpanAttributes): void;
  /** What others are to be told of what is being worked on now; undefined as for `call`. */
  traceparent(): string | undefined;
  /** Sends what waits, for a moment at most. Never rejects. */
  close(): Promise<void>;
}

export interface TracerSetup {
  readonly config: TracingConfig;
  /** What the spans are said to be of: `kube-apiserver`. */
  readonly service: string;
  readonly log: Logger;
  /** Counts them; absent: nobody does. */
  readonly metrics?: Registry | undefined;
}

/** The object that a span is about: the same names in all daemons, so that one query finds all that was done with it. */

/** What of an object's metadata tells it from others. */
export interface Identity {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** `resource`: `pods`, `deployments.apps`. What is not known is left out. Pure. */
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
