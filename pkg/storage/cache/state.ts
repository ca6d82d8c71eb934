/** The state of one resource in the cache, and the feed that keeps it equal to the store. */

import { deferred } from '#apimachinery/async/deferred.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { CacheEntry, type EntryContext } from '#storage/cache/cache-entry.js';
import { Change, changesBetween, changesOfHistory, EventRing, type StoreHistory } from '#storage/cache/event-ring.js';
import { Snapshots } from '#storage/cache/snapshots.js';
import type { Watcher } from '#storage/cache/watcher.js';
import { NotificationQueue, WatcherSet } from '#storage/cache/watcher-set.js';
import { watchTooOld } from '#storage/errors.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { prefixEnd, SortedMap } from '#storage/sorted-map.js';
import { type Revision, type Store, StoreError, type StoreEvent } from '#storage/store.js';

export interface CacheStateOptions {
  readonly clock: Clock;
  readonly historyCapacity: number;
  readonly historyMaxBytes: number;
  readonly historyMaxAgeMs: number;
  readonly sameObject: (a: CacheEntry, b: CacheEntry) => boolean;
}

/** A write of this server that the watch has not delivered yet; without an entry, a deletion. */
interface Ahead {
  readonly revision: Revision;
  readonly entry: CacheEntry | undefined;
}

/** A write reported by the store's watch. */
interface Write {
  readonly key: string;
  readonly revision: Revision;
  /** Absent for a deletion. */
  readonly entry?: CacheEntry;
}

/**
 * The objects at one revision, recent changes, watchers and waiting reads. All methods are synchronous, so partial
 * changes are never visible.
 * Invariant: `entries` is the resource's state at `revision`; own writes that the watch has not delivered yet are
 * separate in `#ahead`.
 */
export class CacheState {
  readonly entries = new SortedMap<CacheEntry>();
  readonly ring: EventRing;
  readonly snapshots: Snapshots;
  readonly watchers = new WatcherSet();
  readonly notifications: NotificationQueue;
  readonly #options: CacheStateOptions;
  readonly #ahead = new Map<string, Ahead>();
  readonly #waiting = new Set<{ readonly revision: Revision; readonly done: () => void }>();
  /** Watchers that get a bookmark with the next progress. */
  readonly #bookmarks = new Set<Watcher>();
  #revision: Revision = 0n;
  #changedAt: Revision = 0n;
  #filled = false;
  /** The revision at which the cache was last filled. */
  #filledAt: Revision = 0n;
  readonly #history = deferred();
  #historySettled = false;

  constructor(options: CacheStateOptions) {
    this.#options = options;
    this.notifications = new NotificationQueue(options.clock);
    this.ring = new EventRing({
      clock: options.clock,
      capacity: options.historyCapacity,
      maxBytes: options.historyMaxBytes,
      maxAgeMs: options.historyMaxAgeMs,
    });
    this.snapshots = new Snapshots({ clock: options.clock, capacity: 4, maxAgeMs: options.historyMaxAgeMs });
  }

  get filled(): boolean {
    return this.#filled;
  }

  /** True once no earlier history can be added. */
  get historySettled(): boolean {
    return this.#historySettled;
  }

  /** All changes up to this revision are included. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Revision of the last change. */
  get changedAt(): Revision {
    return this.#changedAt;
  }

  /** The key's newest state known to this server. */
  newest(key: string): CacheEntry | undefined {
    const ahead = this.#ahead.get(key);
    return ahead === undefined ? this.entries.get(key) : ahead.entry;
  }

  /** Adds the result of this server's own write, before or after the watch's event. */
  wrote(key: string, revision: Revision, entry: CacheEntry | undefined): void {
    if (revision <= this.#revision || revision <= (this.#ahead.get(key)?.revision ?? 0n)) return;
    this.#ahead.set(key, { revision, entry });
  }

  /** The cached entry with exactly this revision, so that its bytes are stored once. */
  cachedAt(key: string, revision: Revision): CacheEntry | undefined {
    const ahead = this.#ahead.get(key)?.entry;
    if (ahead?.revision === revision) return ahead;
    const entry = this.entries.get(key);
    return entry?.revision === revision ? entry : undefined;
  }

  /** Adds writes in revision order, complete up to `revision`. */
  apply(writes: readonly Write[], revision: Revision): void {
    this.notifications.gather(() => this.#apply(writes, revision));
  }

  #apply(writes: readonly Write[], revision: Revision): void {
    for (const write of writes) {
      if (write.revision <= this.#revision) continue;
      this.#settleAhead(write.key, write.revision);
      const change = this.#change(write);
      if (change === undefined) continue;
      this.#changedAt = write.revision;
      this.ring.add(change);
      this.watchers.offer(change);
    }
    this.#advance(revision);
  }

  /** Everything up to `revision` has been delivered. */
  progress(revision: Revision): void {
    this.#advance(revision);
  }

  /** Replaces the whole state at `revision`, sorted by key; differences become events. */
  replace(listed: readonly CacheEntry[], revision: Revision): void {
    this.notifications.gather(() => this.#replace(listed, revision));
  }

  #replace(listed: readonly CacheEntry[], revision: Revision): void {
    if (this.#filled && revision < this.#revision) this.#startOver();
    const now = listed.map((entry) => this.#kept(entry));
    const before = this.entries.slice({});
    const changes = this.#filled
      ? changesBetween({ before, since: this.#revision, now, sameObject: this.#options.sameObject })
      : [];
    this.entries.load(
      now.map((entry) => entry.key),
      now,
    );
    for (const key of this.#ahead.keys()) this.#settleAhead(key, revision);
    if (!this.#filled) {
      this.ring.reset(revision);
      this.#filledAt = revision;
      this.#changedAt = revision;
    }
    for (const change of changes) {
      this.#changedAt = revision;
      this.ring.add(change);
      this.watchers.offer(change);
    }
    this.#filled = true;
    this.#advance(revision);
  }

  /** Adds changes from before the cache was filled to the history, unless the history has dropped its oldest changes. */
  remember(past: StoreHistory): void {
    const before = past.events.filter((event) => event.kv.modRevision <= this.#filledAt);
    const cachedAt = (key: string, revision: Revision) => this.cachedAt(key, revision);
    const { changes, floor } = changesOfHistory({ ...past, events: before }, cachedAt);
    if (!this.#filled || this.ring.floor !== this.#filledAt || floor >= this.#filledAt) return;
    this.ring.prepend(
      changes.filter(({ revision }) => revision <= this.#filledAt),
      floor,
    );
  }

  /** Declares that no earlier history will be added. */
  settleHistory(): void {
    if (this.#historySettled) return;
    this.#historySettled = true;
    this.#history.resolve();
  }

  /** Resolves when the history is settled (true), or when the signal aborts. */
  async remembered(signal: AbortSignal): Promise<boolean> {
    if (!signal.aborted && !this.#historySettled) {
      const aborted = deferred();
      signal.addEventListener('abort', () => aborted.resolve(), { once: true });
      await Promise.race([this.#history.promise, aborted.promise]);
    }
    return this.#historySettled;
  }

  /** Resolves when everything up to `revision` is included, or when the signal aborts. */
  reached(revision: Revision, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || (this.#filled && this.#revision >= revision)) return resolve();
      const done = () => {
        signal.removeEventListener('abort', done);
        this.#waiting.delete(waiting);
        resolve();
      };
      const waiting = { revision, done };
      this.#waiting.add(waiting);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Sends the watcher a bookmark after the store's next progress. */
  bookmarkSoon(watcher: Watcher): void {
    this.#bookmarks.add(watcher);
  }

  /** Ends all watches. */
  endWatchers(error?: unknown): void {
    this.watchers.end(error);
  }

  #change(write: Write): Change | undefined {
    const { key, revision, entry } = write;
    if (entry !== undefined) {
      // Use the entry's key, so that only one string is stored.
      const previous = this.entries.set(entry.key, entry);
      return new Change({ revision, entry, previous, deleted: false });
    }
    const previous = this.entries.delete(key);
    return previous && new Change({ revision, entry: previous.at(revision), previous, deleted: true });
  }

  /** Returns the cached entry if all bytes are equal, to keep its derived forms. */
  #kept(entry: CacheEntry): CacheEntry {
    const cached = this.cachedAt(entry.key, entry.revision);
    return cached?.same(entry) === true ? cached : entry;
  }

  #settleAhead(key: string, revision: Revision): void {
    const ahead = this.#ahead.get(key);
    if (ahead !== undefined && ahead.revision <= revision) this.#ahead.delete(key);
  }

  #advance(revision: Revision): void {
    if (revision > this.#revision) this.#revision = revision;
    for (const waiting of this.#waiting) {
      if (waiting.revision <= this.#revision) waiting.done();
    }
    if (this.#bookmarks.size === 0) return;
    for (const watcher of this.#bookmarks) watcher.bookmark(this.#revision);
    this.#bookmarks.clear();
  }

  /** Drops the history: the store's revision decreased (restored backup), so earlier versions are no longer comparable. */
  #startOver(): void {
    this.endWatchers(watchTooOld(this.#revision, this.#revision));
    this.#filled = false;
    this.#revision = 0n;
    this.#ahead.clear();
    this.snapshots.clear();
  }
}

export interface FeedOptions {
  readonly store: Store;
  readonly prefix: string;
  readonly resource: string;
  readonly state: CacheState;
  readonly context: EntryContext;
  readonly clock: Clock;
  readonly turns: Pick<TurnQueue, 'pause'>;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
}

/** Number of pairs of the first page, while the size of objects is unknown. */
const firstPageSize = 20;
const maxPageSize = 500;
/** Maximal growth from page to page, since later objects may be larger. */
const maxGrowth = 4;
/** Size of a response that does not block the event loop for long. */
const pageBytes = 2 * 1024 * 1024;
const retryBaseMs = 100;
const retryMaxMs = 5000;

/**
 * Keeps a cache's state equal to the store: lists, then follows the watch. The store's watch reconnects by itself; only
 * when history is compacted is the resource listed again, and differences become events.
 */
export class Feed {
  readonly #options: FeedOptions;
  /** Ends the current listing and following. */
  #round = new AbortController();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, prefix, random } = this.#options;
    const stop = () => this.#round.abort();
    signal.addEventListener('abort', stop, { once: true });
    const backoff = new Backoff({ initialMs: retryBaseMs, maxMs: retryMaxMs, spread: 0.5, random });
    while (!signal.aborted) {
      this.#round = new AbortController();
      const round = this.#round.signal;
      try {
        const revision = await this.#fill(round);
        backoff.reset();
        await this.#follow(revision + 1n, round);
      } catch (err) {
        if (round.aborted) continue;
        if (err instanceof StoreError && err.code === 'compacted') {
          log.info({ prefix }, 'the history of the watch was compacted, listing again');
          continue;
        }
        const delayMs = backoff.nextMs();
        log.warn({ prefix, err, delayMs }, 'cannot follow the store, trying again');
        await clock.sleep(delayMs, signal);
      }
    }
    signal.removeEventListener('abort', stop);
  }

  /** Lists everything again after a detected difference. */
  refill(): void {
    this.#round.abort();
  }

  async #fill(signal: AbortSignal): Promise<Revision> {
    const { store, prefix, state, metrics, resource, context, turns } = this.#options;
    const end = prefixEnd(prefix);
    const entries: CacheEntry[] = [];
    let start = prefix;
    let revision: Revision | undefined;
    let limit = firstPageSize;
    for (;;) {
      const at = revision === undefined ? {} : { revision };
      const page = await store.range({ start, end, limit, signal, ...at });
      revision ??= page.revision;
      let bytes = 0;
      for (const kv of page.kvs) {
        await turns.pause();
        bytes += kv.value.length;
        entries.push(new CacheEntry(kv, context));
      }
      if (page.kvs.length === 0 || page.count <= page.kvs.length) break;
      start = `${page.kvs[page.kvs.length - 1]?.key}\0`;
      const fitting = Math.floor((pageBytes * page.kvs.length) / bytes);
      limit = Math.max(1, Math.min(maxPageSize, limit * maxGrowth, fitting));
    }
    signal.throwIfAborted();
    state.replace(entries, revision);
    metrics.cacheInits.inc({ resource });
    metrics.objects.set({ resource }, state.entries.size);
    return revision;
  }

  async #follow(fromRevision: Revision, signal: AbortSignal): Promise<void> {
    const { store, prefix, state, metrics, resource } = this.#options;
    for await (const message of store.watch({ start: prefix, end: prefixEnd(prefix), fromRevision, signal })) {
      if (message.type === 'progress') {
        metrics.bookmarks.inc({ resource });
        state.progress(message.revision);
        continue;
      }
      const writes = message.events.map((event) => writeOf(this.#options, event));
      state.apply(writes, message.revision);
      metrics.cacheEvents.labels(resource).inc(writes.length);
    }
  }
}

function writeOf(options: FeedOptions, event: StoreEvent): Write {
  const { key, modRevision: revision } = event.kv;
  if (event.type === 'delete') return { key, revision };
  const { state, context } = options;
  return { key, revision, entry: state.cachedAt(key, revision) ?? new CacheEntry(event.kv, context) };
}
