/** Reads of one resource: waits for the requested version and reads it from memory or from the store. */

import { deadline } from '#apimachinery/async/deadline.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import { type StatusError, tooManyRequests } from '#apimachinery/errors/status.js';
import type { CacheEntry, EntryContext } from '#storage/cache/cache-entry.js';
import { keyRange, listResult, listStore, listView, type Selection } from '#storage/cache/listing.js';
import type { Snapshot } from '#storage/cache/snapshots.js';
import type { CacheState } from '#storage/cache/state.js';
import { notReached, statusFromStore } from '#storage/errors.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type { Entry, ListOptions, ListResult, ReadVersion } from '#storage/resource-storage.js';
import type { Revision, Store } from '#storage/store.js';

export interface CacheReadsOptions {
  readonly store: Store;
  /** `currentRevision` of the underlying store. */
  readonly currentRevision: Store['currentRevision'];
  readonly state: CacheState;
  readonly prefix: string;
  /** Label of list metrics. */
  readonly countedAs: string;
  readonly resource: string;
  readonly context: EntryContext;
  readonly clock: Clock;
  readonly turns: TurnQueue;
  readonly metrics: StorageMetrics;
  /** Time limit of waiting for a version or for the filling of the cache. */
  readonly waitMs: number;
}

/** Any version except an exact one. */
export type FreshEnough = Exclude<ReadVersion, { kind: 'exact' }>;

export class CacheReads {
  readonly #options: CacheReadsOptions;

  constructor(options: CacheReadsOptions) {
    this.#options = options;
  }

  get(key: string, version: ReadVersion, signal: Cancellation | undefined): Promise<Entry | undefined> {
    const { state, prefix } = this.#options;
    const fullKey = prefix + key;
    return version.kind === 'latest' && state.filled
      ? this.#latest(fullKey, signal)
      : this.#get(fullKey, version, signal);
  }

  /** Reads the latest version, the most frequent read, with as few promises as possible. */
  #latest(fullKey: string, signal: Cancellation | undefined): Promise<Entry | undefined> {
    const { state, currentRevision } = this.#options;
    const newest = () => readable(state.newest(fullKey));
    return currentRevision(signal).then((target) => {
      if (state.revision >= target) return newest();
      return this.#waitRevision(target, signal).then(newest);
    }, translatedFailure);
  }

  async #get(fullKey: string, version: ReadVersion, signal: Cancellation | undefined): Promise<Entry | undefined> {
    const { state } = this.#options;
    if (version.kind === 'exact') {
      const selection = { start: fullKey, end: `${fullKey}\0`, limit: 1, match: undefined };
      return (await this.#exact(selection, version.revision, signal)).entries[0];
    }
    if (version.kind === 'notOlderThan') {
      const newest = state.newest(fullKey);
      if (newest !== undefined && newest.revision >= version.revision) return readable(newest);
    }
    await this.reach(version, signal);
    return readable(state.newest(fullKey));
  }

  /** See ResourceStorage. */
  cached(key: string): Entry | undefined {
    const { state, prefix } = this.#options;
    return readable(state.newest(prefix + key));
  }

  cachedIn(scope: string): readonly Entry[] {
    const { state, prefix } = this.#options;
    const entries = state.entries.slice(keyRange(prefix, scope, undefined));
    for (const entry of entries) entry.checkReadable();
    return entries;
  }

  async list(options: ListOptions): Promise<ListResult> {
    const { prefix } = this.#options;
    const { scope, version, limit = 0, startKey, match, admits, signal } = options;
    const segments = admits && { prefix, admits };
    const selection = { ...keyRange(prefix, scope, startKey), limit, match, segments };
    if (version.kind === 'exact') return this.#exact(selection, version.revision, signal);
    await this.reach(version, signal);
    return this.#fromMemory(selection);
  }

  /** Waits until the cache satisfies a read of the version. Throws 429, 503 or 504. */
  async reach(version: FreshEnough, signal: Cancellation | undefined): Promise<void> {
    const { state, currentRevision } = this.#options;
    if (!state.filled) await this.#waitFilled(signal);
    if (version.kind === 'any') return;
    const target = version.kind === 'latest' ? await translated(() => currentRevision(signal)) : version.revision;
    if (state.revision < target) await this.#waitRevision(target, signal);
  }

  /**
   * Waits briefly for changes after `revision` that are being read from the store's history. Throws 429 if that takes
   * longer, so that the client can resume later.
   */
  async recall(revision: Revision, signal: Cancellation | undefined): Promise<void> {
    const { state } = this.#options;
    if (revision >= state.ring.floor) return;
    if (!(await this.#within(signal, (bounded) => state.remembered(bounded)))) throw initializing();
  }

  async #waitFilled(signal: Cancellation | undefined): Promise<void> {
    await this.#within(signal, (bounded) => this.#options.state.reached(0n, bounded));
    if (!this.#options.state.filled) throw initializing();
  }

  async #waitRevision(target: Revision, signal: Cancellation | undefined): Promise<void> {
    const { state, store, prefix } = this.#options;
    const reached = this.#within(signal, (bounded) => state.reached(target, bounded));
    store.requestProgress(prefix);
    await reached;
    if (state.revision < target) throw notReached(target, state.revision);
  }

  async #within<T>(signal: Cancellation | undefined, wait: (bounded: AbortSignal) => Promise<T>): Promise<T> {
    const bounded = deadline(this.#options.clock, this.#options.waitMs, signal);
    try {
      const result = await wait(bounded.signal);
      signal?.throwIfAborted();
      return result;
    } finally {
      bounded.release();
    }
  }

  async #fromMemory(selection: Selection): Promise<ListResult> {
    const { state } = this.#options;
    const { revision, changedAt } = state;
    return this.#fromView({ view: state.entries.snapshot(), revision, changedAt }, selection, revision);
  }

  async #fromView(snapshot: Snapshot, selection: Selection, revision: Revision): Promise<ListResult> {
    const { state, turns, metrics, prefix, countedAs } = this.#options;
    const page = await listView(snapshot.view, selection, () => turns.bulk.pause());
    if (page.next !== undefined) state.snapshots.add(snapshot);
    const labels = { resource_prefix: countedAs };
    metrics.cacheLists.inc({ ...labels, index: '' });
    metrics.cacheListFetched.inc({ ...labels, index: '' }, page.fetched);
    metrics.cacheListReturned.inc(labels, page.entries.length);
    return listResult(page, prefix, revision);
  }

  /** The exact version: from memory if it is recent, otherwise from the store's history. */
  async #exact(selection: Selection, revision: Revision, signal: Cancellation | undefined): Promise<ListResult> {
    const { state, store, context, metrics, resource, prefix } = this.#options;
    if (!state.filled) await this.#waitFilled(signal);
    if (state.revision < revision) await this.#waitRevision(revision, signal);
    const snapshot =
      revision >= state.changedAt
        ? { view: state.entries.snapshot(), revision: state.revision, changedAt: state.changedAt }
        : state.snapshots.at(revision);
    if (snapshot !== undefined) return this.#fromView(snapshot, selection, revision);
    const cachedAt = (key: string, at: Revision) => state.cachedAt(key, at);
    const page = await translated(() => listStore({ ...selection, store, revision, context, cachedAt, signal }));
    metrics.storeLists.inc({ resource });
    metrics.storeListFetched.inc({ resource }, page.fetched);
    metrics.storeListEvaluated.inc({ resource }, page.fetched);
    metrics.storeListReturned.inc({ resource }, page.entries.length);
    return listResult(page, prefix, revision);
  }
}

const initializing = (): StatusError => tooManyRequests('storage is (re)initializing', 1);

function readable(entry: CacheEntry | undefined): CacheEntry | undefined {
  entry?.checkReadable();
  return entry;
}

function translated<T>(call: () => Promise<T>): Promise<T> {
  return call().catch(translatedFailure);
}

function translatedFailure(err: unknown): never {
  throw statusFromStore(err);
}
