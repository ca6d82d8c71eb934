/**
 * Keeps a cache's state equal to the store: lists, then follows the watch. The store's watch reconnects by itself; only
 * when it says that history is gone is the resource listed again, and the difference becomes events.
 */
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { CacheEntry, type EntryContext } from '#storage/cache/cache-entry.js';
import type { CacheState, Write } from '#storage/cache/state.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { prefixEnd, type Revision, type Store, StoreError, type StoreEvent } from '#storage/store.js';

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

/** Pairs per read while the cache is filled; at first, when nothing is known of their sizes. */
const firstPageSize = 20;
const maxPageSize = 500;
/** From one page to the next: the objects that follow may be larger. */
const maxGrowth = 4;
/** Of one answer, which must not hold the event loop for long. */
const pageBytes = 2 * 1024 * 1024;
const retryBaseMs = 100;
const retryMaxMs = 5000;

export class Feed {
  readonly #options: FeedOptions;
  /** Ends the present round of listing and following. */
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
          log.info({ prefix }, 'history of the watch is gone, listing again');
          continue;
        }
        const delayMs = backoff.nextMs();
        log.warn({ prefix, err, delayMs }, 'cannot follow the store, trying again');
        await clock.sleep(delayMs, signal);
      }
    }
    signal.removeEventListener('abort', stop);
  }

  /** Lists everything again: what the cache holds is not to be trusted. */
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
  return { key, revision, entry: state.known(key, revision) ?? new CacheEntry(event.kv, context) };
}
