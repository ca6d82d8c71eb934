/** A watch's place at the hub: a bounded queue and its requested progress. */
import { prefixEnd } from '#storage/sorted-map.js';
import type { Revision, StoreEvent, WatchMessage } from '#storage/store.js';

const separator = '/';

/** Finds the watches of an event by the prefixes of its key, without cost for other watches. */
export class SubscriptionIndex {
  readonly #all = new Set<Subscription>();
  /** Watches of a prefix that ends with a slash. */
  readonly #byPrefix = new Map<string, Set<Subscription>>();
  /** Watches of other ranges. */
  readonly #others = new Set<Subscription>();

  get all(): ReadonlySet<Subscription> {
    return this.#all;
  }

  add(subscription: Subscription): void {
    this.#all.add(subscription);
    if (!isPrefix(subscription)) {
      this.#others.add(subscription);
      return;
    }
    const same = this.#byPrefix.get(subscription.start) ?? new Set();
    this.#byPrefix.set(subscription.start, same.add(subscription));
  }

  delete(subscription: Subscription): void {
    this.#all.delete(subscription);
    this.#others.delete(subscription);
    const same = this.#byPrefix.get(subscription.start);
    if (same?.delete(subscription) === true && same.size === 0) this.#byPrefix.delete(subscription.start);
  }

  /** The events for each affected watch, in order. */
  route(events: readonly StoreEvent[]): Map<Subscription, StoreEvent[]> {
    const routed = new Map<Subscription, StoreEvent[]>();
    const give = (subscription: Subscription, event: StoreEvent) => {
      const theirs = routed.get(subscription);
      if (theirs === undefined) routed.set(subscription, [event]);
      else theirs.push(event);
    };
    for (const event of events) {
      const key = event.kv.key;
      for (let at = key.indexOf(separator); at >= 0; at = key.indexOf(separator, at + 1)) {
        const same = this.#byPrefix.get(key.slice(0, at + 1));
        if (same !== undefined) for (const subscription of same) give(subscription, event);
      }
      for (const subscription of this.#others) {
        if (key >= subscription.start && key < subscription.end) give(subscription, event);
      }
    }
    return routed;
  }
}

function isPrefix({ start, end }: Subscription): boolean {
  return start.endsWith(separator) && end === prefixEnd(start);
}

export interface SubscriptionOptions {
  readonly start: string;
  readonly end: string;
  /** Events up to this revision are not delivered. */
  readonly after: Revision;
  /** Limit of queued events; above it the subscription ends after the queued ones. */
  readonly queueSize: number;
}

export class Subscription {
  readonly #options: SubscriptionOptions;
  #queue: readonly StoreEvent[] = [];
  /** A progress message to deliver after the queue. */
  #progress: Revision | undefined;
  /** Revision at which a progress message is requested. */
  #requested: Revision | undefined;
  #wake: (() => void) | undefined;
  #end: { readonly error: unknown } | undefined;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  get start(): string {
    return this.#options.start;
  }

  get end(): string {
    return this.#options.end;
  }

  /** Queues the events in its range: complete revisions, in order. */
  offer(events: readonly StoreEvent[]): void {
    const { after, queueSize } = this.#options;
    if (this.#end !== undefined) return;
    const [first] = events;
    const newEvents =
      first === undefined || first.kv.modRevision > after
        ? events
        : events.filter((event) => event.kv.modRevision > after);
    if (newEvents.length === 0) return;
    if (this.#queue.length > 0 && this.#queue.length + newEvents.length > queueSize) return this.close();
    this.#queue = this.#queue.length === 0 ? newEvents : this.#queue.concat(newEvents);
    this.#notify();
  }

  /** Requests a progress message for the time when everything up to `revision` is delivered. */
  wantProgress(revision: Revision): void {
    if (this.#requested === undefined || this.#requested < revision) this.#requested = revision;
  }

  /** True if the subscription waits for a later revision. */
  waitsBeyond(revision: Revision): boolean {
    return this.#requested !== undefined && this.#requested > revision;
  }

  /** The hub has reached `revision`. True if nothing else is awaited. */
  reached(revision: Revision): boolean {
    if (this.#end !== undefined || this.#requested === undefined) return true;
    if (this.#requested > revision || revision < this.#options.after) return false;
    this.#requested = undefined;
    this.#progress = revision;
    this.#notify();
    return true;
  }

  /** Ends the subscription after the queued events. */
  close(error?: unknown): void {
    this.#end ??= { error };
    this.#notify();
  }

  /** The next message; undefined at the end. */
  async take(): Promise<WatchMessage | undefined> {
    for (;;) {
      if (this.#queue.length > 0) return this.#takeEvents(this.#queue);
      if (this.#progress !== undefined) {
        const revision = this.#progress;
        this.#progress = undefined;
        return { type: 'progress', revision };
      }
      if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #takeEvents(events: readonly StoreEvent[]): WatchMessage {
    this.#queue = [];
    return { type: 'events', events, revision: (events[events.length - 1] as StoreEvent).kv.modRevision };
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
