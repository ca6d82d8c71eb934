/** Records events about objects. Recording never blocks or throws; events are written in the background. */
import type { Registry } from 'prom-client';
import { events } from '#api/core/v1/resources.gen.js';
import type { Event, ObjectReference } from '#api/core/v1/types.gen.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import { type Clock, processClock, type Timer } from '#apimachinery/clock.js';
import { isAlreadyExists, isNotFound, statusOf } from '#apimachinery/errors/status.js';
import type { ApiObject, Client, ResourceClient } from '#client/client.js';
import {
  EventCorrelator,
  type EventSeriesState,
  type EventType,
  eventNamespace,
  eventOf,
} from '#client/events/correlator.js';
import type { Logger } from '#daemon/log/logger.js';
import { counter } from '#daemon/metrics/metric.js';

/** The involved object: an object with apiVersion and kind, or a reference. */
export type EventTarget = ApiObject | ObjectReference;

export interface EventRecorder {
  /** `reason`: a CamelCase word; `message`: a sentence for users; `annotations`: of the Event object. */
  record(
    target: EventTarget,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void;
}

export interface ApiEventRecorderOptions {
  readonly client: Client;
  /** The daemon's component name and, where relevant, the node. */
  readonly source: { readonly component: string; readonly host?: string };
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics?: Registry;
}

/** Attempts per write, as in client-go. */
const maxTries = 12;
/** Longest duration of `close`. */
const drainMs = 1000;
/** Longest message that the API accepts. */
const maxMessageLength = 1024;

export class ApiEventRecorder implements EventRecorder {
  readonly #options: ApiEventRecorderOptions;
  readonly #client: ResourceClient<Event>;
  readonly #correlator: EventCorrelator;
  /** Each series at most once; bounded, because the correlator limits the number of series. */
  readonly #queue = new Set<EventSeriesState>();
  readonly #delayed = new Map<EventSeriesState, Timer>();
  readonly #stop = new AbortController();
  readonly #dropped: (reason: string) => void;
  /** Writes in flight, at most one per series. */
  readonly #sending = new Map<EventSeriesState, Promise<void>>();
  /** The series being retried; while the server is unreachable only this one uses up its attempts. */
  #retrying: EventSeriesState | undefined;
  #closing = false;
  #sequence = 0;

  constructor(options: ApiEventRecorderOptions) {
    this.#options = options;
    this.#client = options.client.resource(events);
    this.#correlator = new EventCorrelator(options.clock, (series) => this.#forget(series));
    const { metrics } = options;
    if (metrics === undefined) this.#dropped = () => undefined;
    else {
      const dropped = counter(metrics, {
        name: 'event_recorder_dropped_total',
        help: 'Events that could not be written',
        labelNames: ['cause'],
      });
      this.#dropped = (cause) => dropped.inc({ cause });
    }
  }

  /** Number of series that are being written, or will be without a delay. */
  get unsent(): number {
    return this.#queue.size + this.#sending.size;
  }

  record(
    target: EventTarget,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void {
    const text = message.length > maxMessageLength ? `${message.slice(0, maxMessageLength - 3)}...` : message;
    const involvedObject = referenceTo(target);
    this.#options.log.debug({ involvedObject, type, reason, eventMessage: text }, 'Event');
    const { series, waitMs } = this.#correlator.correlate({
      ...{ involvedObject, type, reason, message: text },
      ...(annotations === undefined ? {} : { annotations }),
    });
    if (this.#closing) {
      this.#giveUp(series, 'closed', undefined);
      return;
    }
    if (waitMs === Number.POSITIVE_INFINITY) return;
    series.dirty = true;
    if (waitMs <= 0) this.#enqueue(series);
    else
      this.#delayed.set(
        series,
        this.#options.clock.setTimer(() => this.#enqueue(series), waitMs),
      );
  }

  /** Writes pending events for at most a second, then stops. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    for (const series of [...this.#delayed.keys()]) this.#enqueue(series);
    const timeout = new AbortController();
    const sending = this.#drained().finally(() => timeout.abort());
    await Promise.race([sending, processClock(this.#options.clock).sleep(drainMs, timeout.signal)]);
    this.#stop.abort();
    await sending;
    for (const series of this.#queue) this.#giveUp(series, 'closed', undefined);
    this.#queue.clear();
  }

  #enqueue(series: EventSeriesState): void {
    this.#delayed.get(series)?.cancel();
    this.#delayed.delete(series);
    this.#queue.add(series);
    this.#sendNext();
  }

  /** Starts writes up to the limit. */
  #sendNext(): void {
    for (const series of this.#queue) {
      const limit = this.#retrying === undefined ? maxSending : 1;
      if (this.#sending.size >= limit || this.#stop.signal.aborted) return;
      if (this.#sending.has(series)) continue;
      this.#queue.delete(series);
      series.dirty = false;
      const sent = this.#send(series).finally(() => {
        this.#sending.delete(series);
        if (this.#retrying === series) this.#retrying = undefined;
        this.#sendNext();
      });
      this.#sending.set(series, sent);
    }
  }

  /** Resolves when no write is in flight. */
  async #drained(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending.values());
  }

  /** Enqueues an evicted series at once if it was waiting for its next write. */
  #forget(series: EventSeriesState): void {
    if (this.#delayed.has(series)) this.#enqueue(series);
    if (this.#queue.size <= maxQueued) return;
    const [oldest] = this.#queue;
    if (oldest === undefined) return;
    this.#queue.delete(oldest);
    this.#giveUp(oldest, 'queue_full', undefined);
  }

  async #send(series: EventSeriesState): Promise<void> {
    const backoff = new Backoff({ initialMs: 1000, maxMs: 10_000, jitter: 0.5, random: this.#options.random });
    for (let tries = 1; !this.#stop.signal.aborted; tries += 1) {
      try {
        await this.#write(series);
        return;
      } catch (error) {
        if (this.#stop.signal.aborted) {
          this.#giveUp(series, 'closed', error);
          return;
        }
        const code = statusOf(error)?.code;
        const passing = code === undefined || code === 429 || code >= 500;
        if (!passing || tries >= maxTries) {
          this.#giveUp(series, passing ? 'unreachable' : 'rejected', error);
          return;
        }
        this.#retrying ??= series;
        if (this.#retrying !== series) {
          series.dirty = true;
          this.#queue.add(series);
          return;
        }
        await processClock(this.#options.clock).sleep(backoff.nextMs(), this.#stop.signal);
      }
    }
    this.#giveUp(series, 'closed', undefined);
  }

  async #write(series: EventSeriesState): Promise<void> {
    const { signal } = this.#stop;
    const namespace = eventNamespace(series);
    if (series.name !== undefined) {
      const { count, message, lastTimestamp } = series;
      try {
        await this.#client.patch(series.name, { count, message, lastTimestamp }, { namespace, type: 'merge', signal });
        return;
      } catch (error) {
        // The Event object has expired: continue the series in a new one.
        if (!isNotFound(error)) throw error;
        series.name = undefined;
      }
    }
    const name = this.#nameFor(series);
    try {
      await this.#client.create(eventOf(series, name, this.#options.source), { namespace, signal });
    } catch (error) {
      // An earlier attempt succeeded, but its response was lost.
      if (!isAlreadyExists(error)) throw error;
    }
    series.name = name;
  }

  /** A name unique among the object's events: the time in nanoseconds, with a sequence number in the last digits. */
  #nameFor(series: EventSeriesState): string {
    this.#sequence = (this.#sequence + 1) % 1_000_000;
    const stamp = BigInt(Math.floor(this.#options.clock.now())) * 1_000_000n + BigInt(this.#sequence);
    return `${series.involvedObject.name ?? ''}.${stamp.toString(16)}`;
  }

  /** Gives up this write; its occurrences count in the series' next write. */
  #giveUp(series: EventSeriesState, cause: string, error: unknown): void {
    this.#dropped(cause);
    const { involvedObject, type, reason, message, count } = series;
    this.#options.log.warn(
      { err: error, cause, involvedObject, type, reason, eventMessage: message, count },
      'cannot write event',
    );
  }
}

/** Limit of series waiting to be written, about 1 KiB each: enough for thousands of pods that start together. */
const maxQueued = 10_000;
/**
 * Limit of concurrent writes. A single one falls behind on a busy server, while many would compete with other requests.
 */
const maxSending = 4;

function referenceTo(target: EventTarget): ObjectReference {
  if (!('metadata' in target)) return target;
  const { apiVersion, kind, metadata } = target;
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
