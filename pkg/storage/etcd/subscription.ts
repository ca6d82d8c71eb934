/** One watch's place at the hub: a bounded queue, and what it wants to know about progress. */
import { prefixEnd, type Revision, type StoreEvent, type WatchMessage } from '#storage/store.js';

const separator = '/';

/** Finds the watches that an event is for by the prefixes of its key, so that it costs nothing to the others. */
export class SubscriptionIndex {
  readonly #all = new Set<Subscription>();
  /** Those of all keys that begin with a prefix that ends with a slash. */
  readonly #byPrefix = new Map<string, Set<Subscription>>();
  /** Those of any other range. */
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

  /** What each of those concerned gets, in the order of the events. */
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
  /** Events up to this revision are not for this watch. */
  readonly after: Revision;
  /** Events that may wait; when more come the subscription ends behind those that wait. */
  readonly queueSize: number;
}

export class Subscription {
  readonly #options: SubscriptionOptions;
  #queue: readonly StoreEvent[] = [];
  /** A progress message is due behind the queue. */
  #progress: Revision | undefined;
  /** A progress message is wanted once the hub has reached this. */
  #wanted: Revision | undefined;
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

  /** Takes events of its range: of whole revisions, in order. */
  offer(events: readonly StoreEvent[]): void {
    const { after, queueSize } = this.#options;
    if (this.#end !== undefined) return;
    const [first] = events;
    const wanted =
      first === undefined || first.kv.modRevision > after
        ? events
        : events.filter((event) => event.kv.modRevision > after);
    if (wanted.length === 0) return;
    if (this.#queue.length > 0 && this.#queue.length + wanted.length > queueSize) return this.close();
    this.#queue = this.#queue.length === 0 ? wanted : this.#queue.concat(wanted);
    this.#notify();
  }

  /** A message is wanted as soon as nothing is missing up to `revision`. */
  wantProgress(revision: Revision): void {
    if (this.#wanted === undefined || this.#wanted < revision) this.#wanted = revision;
  }

  /** True when it waits for a revision behind that one. */
  waitsBeyond(revision: Revision): boolean {
    return this.#wanted !== undefined && this.#wanted > revision;
  }

  /** The hub has come to `revision`. True: no more is wanted of it. */
  reached(revision: Revision): boolean {
    if (this.#end !== undefined || this.#wanted === undefined) return true;
    if (this.#wanted > revision || revision < this.#options.after) return false;
    this.#wanted = undefined;
    this.#progress = revision;
    this.#notify();
    return true;
  }

  /** No more comes; what waits is delivered first. */
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
