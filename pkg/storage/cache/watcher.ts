/**
 * A client's watch: its position in the events that it selects.
 * Watchers with equal selections read the same log, so each change is tested once for all of them. The log keeps events
 * for the slowest watcher, within the limit of its buffer.
 */
import type { Change } from '#storage/cache/event-ring.js';
import type { Entry, Only, ResourceEvent } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

/** Common options of a log's watchers. */
export interface WatchLogOptions {
  /** Prefix of the keys, with the resource's prefix. */
  readonly scope: string;
  readonly match: ((entry: Entry) => boolean) | undefined;
  /** Changes up to this revision are skipped. */
  readonly seen: Revision;
  /** Limit of queued events per watcher. */
  readonly bufferSize: number;
}

/**
 * The event of a change for a selection: an object that starts or stops matching is added or deleted. Throws a 500
 * error for an unreadable object; no watcher has seen its state, so the next change is treated as if it had not
 * existed.
 */
export function eventFor(change: Change, match: WatchLogOptions['match']): ResourceEvent | undefined {
  const { entry, deleted } = change;
  const previous = change.previous?.unreadable === undefined ? change.previous : undefined;
  if (!deleted) entry.checkReadable();
  const matchedBefore = previous !== undefined && (match === undefined || match(previous));
  const matchesNow = !deleted && (match === undefined || match(entry));
  if (matchesNow) return change.event(matchedBefore ? 'MODIFIED' : 'ADDED', entry);
  if (!matchedBefore) return undefined;
  return change.event('DELETED', change.departed(previous));
}

/** Minimal number of events before a search for those that all watchers have read. */
const minTrim = 64;
/** Limit of events for notified watchers whose turn is pending, if larger than a buffer. */
const maxPending = 10_000;

export class WatchLog {
  /** Revision of the newest event. */
  revision: Revision = 0n;
  readonly #options: WatchLogOptions;
  readonly #watchers = new Set<Watcher>();
  /** Watchers that have read everything, including some removed ones. */
  #waiting: Watcher[] = [];
  /** Number of waiting watchers without removed ones. */
  #waitingCount = 0;
  /** Number of the first stored event; numbers start at 0. */
  #start = 0;
  #events: ResourceEvent[] = [];
  #trimAt: number;
  /** The last slice, since many watchers read the same one. */
  #slice: { readonly from: number; readonly events: readonly ResourceEvent[] } = { from: 0, events: [] };

  /** `options` of any of its watchers. */
  constructor(options: WatchLogOptions) {
    this.#options = options;
    this.#trimAt = Math.min(minTrim, options.bufferSize);
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** Number of the next event. */
  get end(): number {
    return this.#start + this.#events.length;
  }

  /** The watcher reads events from now on. */
  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    watcher.attach(this);
  }

  delete(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher)) return;
    if (watcher.isWaiting) this.#waitingCount--;
    watcher.isWaiting = false;
    watcher.detach();
  }

  /** The watcher has read everything and will be notified of more. */
  wait(watcher: Watcher): void {
    if (!watcher.isWaiting && this.#watchers.has(watcher)) {
      watcher.isWaiting = true;
      this.#waiting.push(watcher);
      this.#waitingCount++;
    }
    if (this.#waitingCount === this.#watchers.size && this.#events.length > 0) this.#forget(this.#events.length);
  }

  /** Adds the change's event if it is selected; an unreadable object ends all watches. */
  offer(change: Change): void {
    const { seen, scope, match } = this.#options;
    if (change.revision <= seen || !change.entry.key.startsWith(scope)) return;
    let event: ResourceEvent | undefined;
    try {
      event = eventFor(change, match);
    } catch (error) {
      for (const watcher of this.#watchers) watcher.end(error);
      return;
    }
    if (event !== undefined) this.#append(event);
  }

  /** Events between two numbers. */
  slice(from: number, end: number): readonly ResourceEvent[] {
    if (this.#slice.from !== from || this.#slice.events.length !== end - from) {
      this.#slice = { from, events: this.#events.slice(from - this.#start, end - this.#start) };
    }
    return this.#slice.events;
  }

  #append(event: ResourceEvent): void {
    this.#events.push(event);
    this.revision = event.revision;
    if (this.#events.length > this.#trimAt) this.#trim();
    if (this.#waitingCount === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingCount = 0;
    for (const watcher of waiting) {
      if (!watcher.isWaiting) continue;
      watcher.isWaiting = false;
      watcher.notify();
    }
  }

  /** Drops events that all watchers have read, and ends watchers that are too far behind. */
  #trim(): void {
    const { end } = this;
    const { bufferSize } = this.#options;
    const oldest = end - bufferSize;
    const oldestPending = end - Math.max(bufferSize, maxPending);
    let least = end;
    for (const watcher of this.#watchers) {
      if (watcher.next < oldest && (!watcher.isNotified || watcher.next < oldestPending)) watcher.overflow();
      if (watcher.next < least) least = watcher.next;
    }
    this.#forget(least - this.#start);
    const kept = this.#events.length;
    const next = kept < bufferSize ? Math.min(2 * kept, bufferSize) : kept + (bufferSize >>> 3);
    this.#trimAt = Math.max(Math.min(minTrim, bufferSize), next);
  }

  #forget(count: number): void {
    if (count === 0) return;
    this.#start += count;
    this.#events = this.#events.slice(count);
    this.#slice = { from: this.#start, events: [] };
  }
}

/** The consumer was too slow for its buffer; it may watch again from its last version. */
export class WatchOverflowError extends Error {
  override readonly name = 'WatchOverflowError';
  constructor() {
    super('the watcher did not keep up with the events');
  }
}

export interface WatcherOptions extends WatchLogOptions {
  /** A field's value that `match` implies. */
  readonly only?: Only | undefined;
  /** Name of the selection: watchers of one scope with equal names share a log. Absent: the watcher shares none. */
  readonly selection?: string | undefined;
  readonly bookmarks: boolean;
  /** Schedules the notification: see `NotificationQueue`, which the watchers of a resource share. */
  readonly notify: (wake: () => void) => void;
}

interface OwnEvent {
  /** Number of the log event that follows it. */
  readonly before: number;
  readonly event: ResourceEvent;
}

export class Watcher {
  readonly options: WatcherOptions;
  /** Number of the next log event to read. */
  next = 0;
  /** For the log only: it waits for the next event. */
  isWaiting = false;
  /** True while it is notified but its turn is pending, so that a delay is not its fault. */
  isNotified = false;
  #log: WatchLog | undefined;
  /** Queued bookmarks; usually none. */
  #own: OwnEvent[] | undefined;
  #bookmarked: Revision;
  #wake: (() => void) | undefined;
  /** `before`: number of the first event that is not delivered. */
  #end: { readonly error: unknown; readonly before: number } | undefined;

  constructor(options: WatcherOptions) {
    this.options = options;
    this.#bookmarked = options.seen;
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** The newest revision of an event or bookmark, or the initial one. */
  get sentRevision(): Revision {
    const events = this.#log?.revision;
    if (events !== undefined && events > this.#bookmarked) return events;
    return this.#bookmarked;
  }

  /** For the log only: sets the watcher's log. */
  attach(log: WatchLog): void {
    this.#log = log;
    this.next = log.end;
  }

  /** For the log only: the watcher was removed. */
  detach(): void {
    this.#end = { error: this.#end?.error, before: this.next };
    this.#own = undefined;
    this.notify();
  }

  /** For the log only: ends the watcher because its buffer is full. */
  overflow(): void {
    const before = this.#log?.end ?? 0;
    this.next = before;
    this.#own = undefined;
    this.#end = { error: this.#end === undefined ? new WatchOverflowError() : this.#end.error, before };
    this.notify();
  }

  /** Queues a bookmark if its revision is new and there is room. */
  bookmark(revision: Revision): void {
    const log = this.#log;
    if (log === undefined || this.#end !== undefined || revision <= this.sentRevision) return;
    if (log.end - this.next >= this.options.bufferSize) return;
    this.#bookmarked = revision;
    this.#own ??= [];
    this.#own.push({ before: log.end, event: { type: 'BOOKMARK', revision } });
    this.notify();
  }

  /** Ends the watch after the queued events; without an error, the iteration just ends. */
  end(error?: unknown): void {
    this.#end ??= { error, before: this.#log?.end ?? 0 };
    this.notify();
  }

  /** All queued events; `ended` after the last one, undefined if there are none yet. Throws the error that ended the watch. */
  poll(): readonly ResourceEvent[] | 'ended' | undefined {
    this.isNotified = false;
    const batch = this.#batch();
    if (batch !== undefined) return batch;
    if (this.#end === undefined) return undefined;
    if (this.#end.error !== undefined) throw this.#end.error;
    return 'ended';
  }

  /** Calls `news` once when `poll` may have events; call it only after `poll` had none. */
  wait(news: () => void): void {
    this.#wake = news;
    this.#log?.wait(this);
  }

  /** All queued events; undefined at the end. */
  async take(): Promise<readonly ResourceEvent[] | undefined> {
    for (;;) {
      const batch = this.poll();
      if (batch !== undefined) return batch === 'ended' ? undefined : batch;
      await new Promise<void>((resolve) => this.wait(resolve));
    }
  }

  /** Reports that there may be events to read. */
  notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake === undefined) return;
    this.isNotified = true;
    this.options.notify(wake);
  }

  #batch(): readonly ResourceEvent[] | undefined {
    const log = this.#log;
    if (log === undefined) return undefined;
    const own = this.#own;
    let { next } = this;
    const end = this.#end?.before ?? log.end;
    if (next >= end && own === undefined) return undefined;
    this.next = end;
    if (own === undefined) return log.slice(next, end);
    this.#own = undefined;
    const batch: ResourceEvent[] = [];
    for (const { before, event } of own) {
      batch.push(...log.slice(next, before), event);
      next = before;
    }
    return batch.concat(log.slice(next, end));
  }
}
