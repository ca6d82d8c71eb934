/**
 * The events of all watchers that select the same: each change is looked at once for all of them, and each watcher knows
 * how far it has come. What the slowest has not taken is kept, within the bound of its buffer.
 */
import type { Change } from '#storage/cache/event-ring.js';
import type { Entry, ResourceEvent } from '#storage/resource-storage.js';
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

/** A watcher as its log sees it. */
export interface LogReader {
  /** The number of the next event to be taken. */
  readonly next: number;
  /** The log's own: it has been put among those that wait for the next event. */
  waits: boolean;
  /** It has been told that there is something to take and has not had its turn yet: if it is late, it is not by its doing. */
  readonly told: boolean;
  /** The log is the watcher's from now on. */
  reads(log: WatchLog): void;
  /** Nothing of the log is wanted any more. */
  leaves(): void;
  /** The watcher's buffer is full, which ends it. */
  overflow(): void;
  /** There may be something to take. */
  notify(): void;
  end(error: unknown): void;
}

/**
 * What a change means to one who selects: an object that starts or stops matching is added or deleted. Throws 500 for an
 * object that cannot be read; nobody has seen it then, so what comes after it is as if there had been none.
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
  readonly #watchers = new Set<LogReader>();
  /** Those that have taken everything, and some that are gone. */
  #waiting: LogReader[] = [];
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
  add(watcher: LogReader): void {
    this.#watchers.add(watcher);
    watcher.reads(this);
  }

  delete(watcher: LogReader): void {
    if (!this.#watchers.delete(watcher)) return;
    if (watcher.waits) this.#waitingCount--;
    watcher.waits = false;
    watcher.leaves();
  }

  /** The watcher has taken everything, and is to be told when there is more. */
  wait(watcher: LogReader): void {
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

  /** Forgets what all have taken; whoever is too far behind ends. */
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
