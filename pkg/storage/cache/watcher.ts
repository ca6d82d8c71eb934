/** One client's watch: which changes concern it, what they mean to it, and the bounded buffer between it and the cache. */

import type { Change } from '#storage/cache/event-ring.js';
import type { NotificationQueue } from '#storage/cache/notification-queue.js';
import type { Entry, Only, ResourceEvent } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

/** The consumer was too slow for its buffer: it may watch again from the last version it has seen. */
export class WatchOverflowError extends Error {
  override readonly name = 'WatchOverflowError';
  constructor() {
    super('the watcher did not keep up with the events');
  }
}

export interface WatcherOptions {
  /** Keys (below the resource's prefix) that start with this. */
  readonly scope: string;
  readonly match: ((entry: Entry) => boolean) | undefined;
  /** Implied by `match`. */
  readonly only?: Only | undefined;
  /** What the client has seen or will see without this watcher: changes up to this revision are not for it. */
  readonly seen: Revision;
  /** Events that may wait at once. */
  readonly bufferSize: number;
  readonly bookmarks: boolean;
  /** Shared by the watchers of a resource. */
  readonly notifications: NotificationQueue;
}

/**
 * What a change means to one who selects: an object that starts or stops matching is added or deleted. Throws 500 for an
 * object that cannot be read; nobody has seen it then, so what comes after it is as if there had been none.
 */
export function eventFor(change: Change, match: WatcherOptions['match']): ResourceEvent | undefined {
  const { entry, deleted } = change;
  const previous = change.previous?.unreadable === undefined ? change.previous : undefined;
  if (!deleted) entry.checkReadable();
  const matchedBefore = previous !== undefined && (match === undefined || match(previous));
  const matchesNow = !deleted && (match === undefined || match(entry));
  if (matchesNow) return change.event(matchedBefore ? 'MODIFIED' : 'ADDED', entry);
  if (!matchedBefore) return undefined;
  return change.event('DELETED', change.departed(previous));
}

export class Watcher {
  readonly options: WatcherOptions;
  /** The newest revision that an event or bookmark has carried, or the one to start behind. */
  sentRevision: Revision;
  #queue: ResourceEvent[] = [];
  #wake: (() => void) | undefined;
  #end: { readonly error: unknown } | undefined;

  constructor(options: WatcherOptions) {
    this.options = options;
    this.sentRevision = options.seen;
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Appends an event; a watcher whose buffer is full ends. */
  push(event: ResourceEvent): void {
    if (this.#end !== undefined) return;
    if (this.#queue.length >= this.options.bufferSize) {
      this.#queue = [];
      this.end(new WatchOverflowError());
      return;
    }
    this.#queue.push(event);
    this.sentRevision = event.revision;
    this.#notify();
  }

  /** Says how far the watch has come, when that is news and there is room. */
  bookmark(revision: Revision, initialEventsEnd = false): void {
    if (!initialEventsEnd && (revision <= this.sentRevision || this.#queue.length >= this.options.bufferSize)) return;
    this.push({ type: 'BOOKMARK', revision, ...(initialEventsEnd && { initialEventsEnd }) });
  }

  /** Delivers a change if it is new to this watcher and concerns it; one that cannot be read ends the watch. */
  offer(change: Change): void {
    if (change.revision <= this.options.seen || !change.entry.key.startsWith(this.options.scope)) return;
    let event: ResourceEvent | undefined;
    try {
      event = eventFor(change, this.options.match);
    } catch (err) {
      this.end(err);
      return;
    }
    if (event !== undefined) this.push(event);
  }

  /** No more events come; without an error the iteration just ends. What waits is delivered first. */
  end(error?: unknown): void {
    this.#end ??= { error };
    this.#notify();
  }

  /** Everything that waits; `ended` behind the last event, undefined when there is nothing yet. Throws what the watch ended with. */
  poll(): readonly ResourceEvent[] | 'ended' | undefined {
    if (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      return batch;
    }
    if (this.#end === undefined) return undefined;
    if (this.#end.error !== undefined) throw this.#end.error;
    return 'ended';
  }

  /** Calls `news` once when there is something to poll; only when there was nothing. */
  wait(news: () => void): void {
    this.#wake = news;
  }

  /** Everything that waits, undefined at the end. */
  async take(): Promise<readonly ResourceEvent[] | undefined> {
    for (;;) {
      const batch = this.poll();
      if (batch !== undefined) return batch === 'ended' ? undefined : batch;
      await new Promise<void>((resolve) => this.wait(resolve));
    }
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake !== undefined) this.options.notifications.add(wake);
  }
}
