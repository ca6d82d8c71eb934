/**
 * Decides which Event object an occurrence belongs to, and when that object may be written again.
 *
 * Equal events share one object whose count grows. From the tenth different message of one reason within ten minutes on,
 * events share one combined object. Each involved object may cause a burst of 25 writes and then one every five minutes
 * (the figures of client-go 1.24's EventCorrelator); beyond that the count still grows and is written at the next
 * opportunity. The first event of a reason is always written, so no reason is lost.
 */
import type { Event, ObjectReference } from '#api/core/v1/types.gen.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { TokenBucket } from '#client/token-bucket.js';

export type EventType = 'Normal' | 'Warning';

export interface Occurrence {
  readonly involvedObject: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  /** Of the Event object that the occurrence creates; equal events keep those of the first. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One Event object, existing or to be created. */
export interface EventSeriesState {
  readonly involvedObject: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  count: number;
  readonly firstTimestamp: string;
  lastTimestamp: string;
  /** Name of the Event object; undefined until it is created. */
  name: string | undefined;
  /** Whether it waits to be written. */
  dirty: boolean;
}

export interface Correlation {
  readonly series: EventSeriesState;
  /** Delay before the write; ms. */
  readonly waitMs: number;
}

const maxEntries = 4096;
/** Number of separate messages per reason; further ones are combined, as in 1.24. */
const maxDifferentMessages = 9;
const aggregationMs = 600_000;
const spamBurst = 25;
const spamQps = 1 / 300;

interface Aggregate {
  readonly messages: Set<string>;
  /** Time of the last event; monotonic. */
  lastMs: number;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #aggregates = new LruCache<string, Aggregate>({ limit: maxEntries });
  readonly #buckets = new LruCache<string, TokenBucket>({ limit: maxEntries });
  readonly #series: LruCache<string, EventSeriesState>;

  /** Calls `onEvict` for each forgotten Event object; its next occurrence creates a new one. */
  constructor(clock: Clock, onEvict?: (series: EventSeriesState) => void) {
    this.#clock = clock;
    this.#series = new LruCache({ limit: maxEntries, ...(onEvict && { onEvict }) });
  }

  /** Counts one occurrence. */
  correlate(occurrence: Occurrence): Correlation {
    const { involvedObject, type, reason } = occurrence;
    const object = objectId(involvedObject);
    const group = `${object}\0${type}\0${reason}`;
    const combined = this.#isCombined(group, occurrence.message);
    const message = combined ? `(combined from similar events): ${occurrence.message}` : occurrence.message;
    // No message begins with this character.
    const key = combined ? `${group}\0\0` : `${group}\0${message}`;
    const timestamp = formatTime(this.#clock.now());
    const current = this.#series.get(key);
    if (current !== undefined) {
      current.count += 1;
      current.message = message;
      current.lastTimestamp = timestamp;
      // The pending write includes this occurrence.
      return { series: current, waitMs: current.dirty ? Number.POSITIVE_INFINITY : this.#reserveMs(object) };
    }
    const series: EventSeriesState = {
      involvedObject,
      type,
      reason,
      message,
      ...(occurrence.annotations === undefined ? {} : { annotations: occurrence.annotations }),
      count: 1,
      firstTimestamp: timestamp,
      lastTimestamp: timestamp,
      name: undefined,
      dirty: false,
    };
    this.#series.set(key, series);
    const firstOfReason = this.#aggregates.get(group)?.messages.size === 1;
    const waitMs = this.#reserveMs(object);
    return { series, waitMs: firstOfReason ? 0 : waitMs };
  }

  #isCombined(group: string, message: string): boolean {
    const nowMs = this.#clock.monotonic();
    let aggregate = this.#aggregates.get(group);
    if (aggregate === undefined || nowMs - aggregate.lastMs > aggregationMs) {
      aggregate = { messages: new Set(), lastMs: nowMs };
      this.#aggregates.set(group, aggregate);
    }
    aggregate.lastMs = nowMs;
    if (aggregate.messages.has(message)) return false;
    if (aggregate.messages.size >= maxDifferentMessages) return true;
    aggregate.messages.add(message);
    return false;
  }

  #reserveMs(object: string): number {
    let bucket = this.#buckets.get(object);
    if (bucket === undefined) {
      bucket = new TokenBucket({ qps: spamQps, burst: spamBurst, clock: this.#clock });
      this.#buckets.set(object, bucket);
    }
    return bucket.reserveMs();
  }
}

function objectId(object: ObjectReference): string {
  const { kind, namespace, name, uid, apiVersion, fieldPath } = object;
  return [kind, namespace, name, uid, apiVersion, fieldPath].join('\0');
}

/** The Event object of a series. */
export function eventOf(
  series: EventSeriesState,
  name: string,
  source: { readonly component: string; readonly host?: string },
): Event {
  return {
    metadata: {
      ...{ name, namespace: eventNamespace(series) },
      ...(series.annotations === undefined ? {} : { annotations: series.annotations }),
    },
    involvedObject: series.involvedObject,
    reason: series.reason,
    message: series.message,
    source: { ...source },
    firstTimestamp: series.firstTimestamp,
    lastTimestamp: series.lastTimestamp,
    count: series.count,
    type: series.type,
  };
}

/** Events of cluster-scoped objects live in the default namespace. */
export function eventNamespace(series: EventSeriesState): string {
  const { namespace } = series.involvedObject;
  return namespace === undefined || namespace === '' ? 'default' : namespace;
}
