/** One client's watch: how far it has come in the events that concern it, and when it is told of more. */

import type { NotificationQueue } from '#storage/cache/notification-queue.js';
import type { LogReader, WatchLog, WatchLogOptions } from '#storage/cache/watch-log.js';
import type { Only, ResourceEvent } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

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
  /** Shared by the watchers of a resource. */
  readonly notifications: NotificationQueue;
}

interface OwnEvent {
  /** The number of the event of the log that it comes before. */
  readonly before: number;
  readonly event: ResourceEvent;
}

export class Watcher implements LogReader {
  readonly options: WatcherOptions;
  next = 0;
  waits = false;
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

  /** For the log. */
  reads(log: WatchLog): void {
    this.#log = log;
    this.next = log.end;
  }

  /** For the log. */
  leaves(): void {
    this.#end = { error: this.#end?.error, before: this.next };
    this.#own = undefined;
    this.notify();
  }

  /** For the log. */
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

  /** For the log. */
  notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake === undefined) return;
    this.told = true;
    this.options.notifications.add(wake);
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
