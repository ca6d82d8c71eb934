/**
 * One client's watch: how far it has come in the events that concern it, and when it is told of more.
 *
 * Watchers that select the same read one log: each change is looked at once for all of them. What the slowest has not taken
 * is kept, within the bound of its buffer.
 */
import type { Change } from '#storage/cache/event-ring.js';
import type { Entry, Only, ResourceEvent } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

/** What the watchers of a log have in common. */
export interface WatchLogOptions {
  /** Keys (below the resource's prefix) that start with this. */
  readonly scope: string;
  readonly match: ((entry: Entry) => boolean) | undefined;
  /** Changes up to this revision are not for them. */
  readonly seen: Revision;
  /** Events that may wait for one of them. */
  readonly bufferSize: number;
}

/**
 * What a change means to a watcher that selects: an object that starts or stops matching is added or deleted. Throws
 * 500 for an object that cannot be read; no watcher has seen it then, so what comes after it is as if there had been
 * none.
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

/** From here on it is worth a look whether all have taken the oldest events. */
const leastTrim = 64;
/** Events that may wait for watchers whose turn has not come, where that is more than a buffer. */
const mostUntold = 10_000;

export class WatchLog {
  /** Of the newest event. */
  revision: Revision = 0n;
  readonly #options: WatchLogOptions;
  readonly #watchers = new Set<Watcher>();
  /** Those that have taken everything, and some that are gone. */
  #waiting: Watcher[] = [];
  /** How many of them are not gone. */
  #waitingCount = 0;
  /** Events are numbered from 0 on; the first that is kept. */
  #start = 0;
  #events: ResourceEvent[] = [];
  #trimAt: number;
  /** What was taken last: many take the same. */
  #slice: { readonly from: number; readonly events: readonly ResourceEvent[] } = { from: 0, events: [] };

  /** `options`: those of any of its watchers. */
  constructor(options: WatchLogOptions) {
    this.#options = options;
    this.#trimAt = Math.min(leastTrim, options.bufferSize);
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** The number of the next event. */
  get end(): number {
    return this.#start + this.#events.length;
  }

  /** The watcher hears of what comes from now on. */
  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    watcher.reads(this);
  }

  delete(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher)) return;
    if (watcher.waits) this.#waitingCount--;
    watcher.waits = false;
    watcher.leaves();
  }

  /** The watcher has taken everything, and is to be told when there is more. */
  wait(watcher: Watcher): void {
    if (!watcher.waits && this.#watchers.has(watcher)) {
      watcher.waits = true;
      this.#waiting.push(watcher);
      this.#waitingCount++;
    }
    if (this.#waitingCount === this.#watchers.size && this.#events.length > 0) this.#forget(this.#events.length);
  }

  /** Adds what the change means to those who watch, if it concerns them; one that cannot be read ends their watches. */
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

  /** The events from one number up to another. */
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
      if (!watcher.waits) continue;
      watcher.waits = false;
      watcher.notify();
    }
  }

  /** Forgets what all watchers have taken; a watcher that is too far behind ends. */
  #trim(): void {
    const { end } = this;
    const { bufferSize } = this.#options;
    const oldest = end - bufferSize;
    const oldestUntold = end - Math.max(bufferSize, mostUntold);
    let least = end;
    for (const watcher of this.#watchers) {
      if (watcher.next < oldest && (!watcher.told || watcher.next < oldestUntold)) watcher.overflow();
      if (watcher.next < least) least = watcher.next;
    }
    this.#forget(least - this.#start);
    const kept = this.#events.length;
    const next = kept < bufferSize ? Math.min(2 * kept, bufferSize) : kept + (bufferSize >>> 3);
    this.#trimAt = Math.max(Math.min(leastTrim, bufferSize), next);
  }

  #forget(count: number): void {
    if (count === 0) return;
    this.#start += count;
    this.#events = this.#events.slice(count);
    this.#slice = { from: this.#start, events: [] };
  }
}

/** The consumer was too slow for its buffer: it may watch again from the last version it has seen. */
export class WatchOverflowError extends Error {
  override readonly name = 'WatchOverflowError';
  constructor() {
    super('the watcher did not keep up with the events');
  }
}

export interface WatcherOptions extends WatchLogOptions {
  /** Implied by `match`. */
  readonly only?: Only | undefined;
  /** Names what `match` selects: watchers of one scope with the same name share what they see. Absent: nobody sees the same. */
  readonly selection?: string | undefined;
  readonly bookmarks: boolean;
  /** Calls it now or a little later: see `NotificationQueue`, which the watchers of a resource share. */
  readonly notify: (wake: () => void) => void;
}

interface OwnEvent {
  /** The number of the event of the log that it comes before. */
  readonly before: number;
  readonly event: ResourceEvent;
}

export class Watcher {
  readonly options: WatcherOptions;
  /** The number of the log's next event to be taken. */
  next = 0;
  /** For the log: it has been put among those that wait for the next event. */
  waits = false;
  /** It has been told that there is something to take and has not had its turn yet: if it is late, it is not by its doing. */
  told = false;
  #log: WatchLog | undefined;
  /** Bookmarks that wait; hardly ever any. */
  #own: OwnEvent[] | undefined;
  #bookmarked: Revision;
  #wake: (() => void) | undefined;
  /** `before`: the number of the first event that is not delivered any more. */
  #end: { readonly error: unknown; readonly before: number } | undefined;

  constructor(options: WatcherOptions) {
    this.options = options;
    this.#bookmarked = options.seen;
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** The newest revision that an event or bookmark has carried, or the one to start behind. */
  get sentRevision(): Revision {
    const events = this.#log?.revision;
    if (events !== undefined && events > this.#bookmarked) return events;
    return this.#bookmarked;
  }

  /** For the log, which is the watcher's from now on. */
  reads(log: WatchLog): void {
    this.#log = log;
    this.next = log.end;
  }

  /** For the log, of which nothing is wanted any more. */
  leaves(): void {
    this.#end = { error: this.#end?.error, before: this.next };
    this.#own = undefined;
    this.notify();
  }

  /** For the log: more waits than the watcher's buffer holds, which ends it. */
  overflow(): void {
    const before = this.#log?.end ?? 0;
    this.next = before;
    this.#own = undefined;
    this.#end = { error: this.#end === undefined ? new WatchOverflowError() : this.#end.error, before };
    this.notify();
  }

  /** Says how far the watch has come, when that is news and there is room. */
  bookmark(revision: Revision): void {
    const log = this.#log;
    if (log === undefined || this.#end !== undefined || revision <= this.sentRevision) return;
    if (log.end - this.next >= this.options.bufferSize) return;
    this.#bookmarked = revision;
    this.#own ??= [];
    this.#own.push({ before: log.end, event: { type: 'BOOKMARK', revision } });
    this.notify();
  }

  /** No more events come; without an error the iteration just ends. What waits is delivered first. */
  end(error?: unknown): void {
    this.#end ??= { error, before: this.#log?.end ?? 0 };
    this.notify();
  }

  /** Everything that waits; `ended` behind the last event, undefined when there is nothing yet. Throws what the watch ended with. */
  poll(): readonly ResourceEvent[] | 'ended' | undefined {
    this.told = false;
    const batch = this.#batch();
    if (batch !== undefined) return batch;
    if (this.#end === undefined) return undefined;
    if (this.#end.error !== undefined) throw this.#end.error;
    return 'ended';
  }

  /** Calls `news` once when there is something to poll; only when there was nothing. */
  wait(news: () => void): void {
    this.#wake = news;
    this.#log?.wait(this);
  }

  /** Everything that waits, undefined at the end. */
  async take(): Promise<readonly ResourceEvent[] | undefined> {
    for (;;) {
      const batch = this.poll();
      if (batch !== undefined) return batch === 'ended' ? undefined : batch;
      await new Promise<void>((resolve) => this.wait(resolve));
    }
  }

  /** There may be something to take. */
  notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake === undefined) return;
    this.told = true;
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
