/** A resource's storage as the API server sees it: reads and watches out of memory, writes to the store. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#apimachinery/clock.js';
import { tooManyRequests } from '#apimachinery/errors/status.js';
import type { Logger } from '#daemon/log/logger.js';
import { CacheEntry, type Decode, decodeJson } from '#storage/cache/cache-entry.js';
import { deadline } from '#storage/cache/deadline.js';
import { feed } from '#storage/cache/feed.js';
import { keyRange, listResult, listStore, listView } from '#storage/cache/listing.js';
import { CacheState } from '#storage/cache/state.js';
import { WatchSession } from '#storage/cache/watch-session.js';
import { notReached, statusFromStore } from '#storage/errors.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type {
  ConditionalResult,
  Entry,
  ListOptions,
  ListResult,
  ReadVersion,
  ResourceStorage,
  ResourceWatch,
  ResourceWatchOptions,
} from '#storage/resource-storage.js';
import type { KeyValue, Revision, Store, WriteOptions, WriteResult } from '#storage/store.js';

export interface WatchCacheOptions {
  readonly store: Store;
  /** The resource's key prefix, with a slash at its end: `/registry/pods/`. */
  readonly prefix: string;
  /** The resource's name in logs and metrics: `pods`, `deployments.apps`. */
  readonly resource: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  /** Parses served bytes; absent = JSON as it is. */
  readonly decode?: Decode;
  /** How long a read waits for a version or for the cache to fill. 1.24 blocks 3 s. */
  readonly waitMs?: number;
  /** Events that wait for one watcher at most. */
  readonly watchBufferSize?: number;
  /** Changes kept for watches that resume. */
  readonly historyCapacity?: number;
  /** Age at which they are dropped. */
  readonly historyMaxAgeMs?: number;
  /** How often watches that want bookmarks get one. */
  readonly bookmarkPeriodMs?: number;
}

/** Longest turn of the event loop that a scan takes. */
const maxTurnMs = 4;

interface Outcome {
  ttlSeconds?: number;
  signal?: AbortSignal;
}

export class WatchCache implements ResourceStorage {
  readonly prefix: string;
  readonly #options: WatchCacheOptions;
  readonly #state: CacheState;
  readonly #decode: Decode;
  readonly #waitMs: number;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    this.prefix = options.prefix;
    this.#decode = options.decode ?? decodeJson;
    this.#waitMs = options.waitMs ?? 3000;
    this.#state = new CacheState({
      clock: options.clock,
      historyCapacity: options.historyCapacity ?? 10_000,
      historyMaxAgeMs: options.historyMaxAgeMs ?? 5 * 60_000,
      sameObject: (a, b) => uidOf(a) === uidOf(b),
    });
  }

  /** Fills the cache and follows the store until the signal aborts or `close` is called. Never rejects. */
  start(signal: AbortSignal): Promise<void> {
    if (this.#running !== undefined) return this.#running;
    const stop = () => this.#stop.abort();
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    this.#running = feed({ ...this.#options, state: this.#state, decode: this.#decode }, this.#stop.signal).finally(
      () => {
        signal.removeEventListener('abort', stop);
        this.#state.endWatchers();
        this.#state.snapshots.clear();
      },
    );
    return this.#running;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  ready(): boolean {
    return this.#state.filled;
  }

  async waitReady(signal?: AbortSignal): Promise<void> {
    await this.#state.reached(0n, signal ?? this.#stop.signal);
    signal?.throwIfAborted();
  }

  /** Number of objects in the cache. */
  get size(): number {
    return this.#state.entries.size;
  }

  /** The revision up to which the cache is complete. */
  get revision(): Revision {
    return this.#state.revision;
  }

  async get(key: string, version: ReadVersion, signal?: AbortSignal): Promise<Entry | undefined> {
    const fullKey = this.prefix + key;
    if (version.kind === 'exact') {
      const range = { start: fullKey, end: `${fullKey}\0` };
      return (await this.#exact({ ...range, limit: 1, match: undefined }, version.revision, signal)).entries[0];
    }
    if (version.kind === 'notOlderThan') {
      const newest = this.#state.newest(fullKey);
      if (newest !== undefined && newest.revision >= version.revision) return newest;
    }
    await this.#reach(version, signal);
    return this.#state.newest(fullKey);
  }

  async list(options: ListOptions): Promise<ListResult> {
    const { scope, version, limit = 0, startKey, match, signal } = options;
    const selection = { ...keyRange(this.prefix, scope, startKey), limit, match };
    this.#options.metrics.listTotal.inc({ resource: this.#options.resource });
    if (version.kind === 'exact') return this.#exact(selection, version.revision, signal);
    await this.#reach(version, signal);
    return this.#fromMemory(selection);
  }

  watch(options: ResourceWatchOptions): ResourceWatch {
    const { store, clock, metrics, resource, watchBufferSize = 1000, bookmarkPeriodMs = 60_000 } = this.#options;
    return new WatchSession({
      watch: options,
      prefix: this.prefix,
      state: this.#state,
      reach: (version, signal) => this.#reach(version, signal),
      requestProgress: () => store.requestProgress(this.prefix),
      clock,
      metrics,
      resource,
      bufferSize: watchBufferSize,
      bookmarkPeriodMs,
      stopped: this.#stop.signal,
    });
  }

  async create(key: string, stored: Buffer, options: Outcome = {}): Promise<Entry | undefined> {
    const fullKey = this.prefix + key;
    const result = await this.#write('create', options, (write) => this.#options.store.create(fullKey, stored, write));
    if (!result.ok) return undefined;
    return this.#wrote(fullKey, stored, result.revision);
  }

  async update(key: string, stored: Buffer, expected: Revision, options: Outcome = {}): Promise<ConditionalResult> {
    const fullKey = this.prefix + key;
    const { store } = this.#options;
    const result = await this.#write('update', options, (write) => store.update(fullKey, stored, expected, write));
    if (!result.ok) return { ok: false, current: this.#current(result.current) };
    return { ok: true, entry: this.#wrote(fullKey, stored, result.revision) };
  }

  async delete(key: string, expected: Revision, signal?: AbortSignal): Promise<ConditionalResult> {
    const fullKey = this.prefix + key;
    const last = await this.#version(fullKey, expected, signal);
    if (!('entry' in last)) return { ok: false, current: last.current };
    const options = signal === undefined ? {} : { signal };
    const result = await this.#write('delete', options, (write) =>
      this.#options.store.delete(fullKey, expected, write),
    );
    if (!result.ok) return { ok: false, current: this.#current(result.current) };
    this.#state.wrote(fullKey, result.revision, undefined);
    return { ok: true, entry: last.entry.at(result.revision) };
  }

  /** Waits until the cache satisfies a read of that version. */
  async #reach(version: Exclude<ReadVersion, { kind: 'exact' }>, signal: AbortSignal | undefined): Promise<void> {
    const { state, store } = { state: this.#state, store: this.#options.store };
    if (!state.filled) await this.#waitFilled(signal);
    if (version.kind === 'any') return;
    const target =
      version.kind === 'latest' ? await this.#translated(() => store.currentRevision(signal)) : version.revision;
    await this.#waitRevision(target, signal);
  }

  async #waitFilled(signal: AbortSignal | undefined): Promise<void> {
    await this.#within(signal, (bounded) => this.#state.reached(0n, bounded));
    if (!this.#state.filled) throw tooManyRequests('storage is (re)initializing', 1);
  }

  async #waitRevision(target: Revision, signal: AbortSignal | undefined): Promise<void> {
    if (this.#state.revision >= target) return;
    const reached = this.#within(signal, (bounded) => this.#state.reached(target, bounded));
    this.#options.store.requestProgress(this.prefix);
    await reached;
    if (this.#state.revision < target) throw notReached(target, this.#state.revision);
  }

  async #within(signal: AbortSignal | undefined, wait: (bounded: AbortSignal) => Promise<void>): Promise<void> {
    const bounded = deadline(this.#options.clock, this.#waitMs, signal);
    try {
      await wait(bounded.signal);
    } finally {
      bounded.release();
    }
    signal?.throwIfAborted();
  }

  async #fromMemory(selection: Parameters<typeof listView>[1]): Promise<ListResult> {
    const { entries, snapshots, revision, changedAt } = this.#state;
    const view = entries.snapshot();
    const page = await listView(view, selection, this.#yielding());
    if (page.next !== undefined) snapshots.add({ view, revision, changedAt });
    this.#options.metrics.listReturned.inc({ resource: this.#options.resource }, page.entries.length);
    return listResult(page, this.prefix, revision);
  }

  /** Exactly that version: from memory if the resource was in that state lately, else from the store's history. */
  async #exact(
    selection: Parameters<typeof listView>[1],
    revision: Revision,
    signal: AbortSignal | undefined,
  ): Promise<ListResult> {
    if (!this.#state.filled) await this.#waitFilled(signal);
    await this.#waitRevision(revision, signal);
    const live = revision >= this.#state.changedAt ? this.#state.entries.snapshot() : undefined;
    const view = live ?? this.#state.snapshots.at(revision)?.view;
    if (view !== undefined) {
      const page = await listView(view, selection, this.#yielding());
      if (live !== undefined && page.next !== undefined) {
        this.#state.snapshots.add({ view: live, revision, changedAt: revision });
      }
      return listResult(page, this.prefix, revision);
    }
    const { store } = this.#options;
    const known = (key: string, at: Revision) => this.#state.known(key, at);
    const listing = { ...selection, store, revision, decode: this.#decode, known, signal };
    return listResult(await this.#translated(() => listStore(listing)), this.prefix, revision);
  }

  /** A function that gives way to others once the current turn has lasted long enough. */
  #yielding(): () => Promise<void> | undefined {
    const { clock } = this.#options;
    let since = clock.monotonic();
    return () => {
      if (clock.monotonic() - since < maxTurnMs) return undefined;
      return nextTurn().then(() => {
        since = clock.monotonic();
      });
    };
  }

  async #write(
    operation: 'create' | 'update' | 'delete',
    options: Outcome,
    call: (options: WriteOptions) => Promise<WriteResult>,
  ): Promise<WriteResult> {
    const { clock, metrics, resource } = this.#options;
    const startedMs = clock.monotonic();
    try {
      return await this.#translated(() => call(options));
    } finally {
      metrics.requestDuration.observe({ operation, type: resource }, (clock.monotonic() - startedMs) / 1000);
    }
  }

  #wrote(key: string, stored: Buffer, revision: Revision): CacheEntry {
    const entry = this.#state.known(key, revision) ?? new CacheEntry(key, stored, revision, this.#decode);
    this.#state.wrote(key, revision, entry);
    return entry;
  }

  #current(kv: KeyValue | undefined): CacheEntry | undefined {
    if (kv === undefined) return undefined;
    return this.#state.known(kv.key, kv.modRevision) ?? new CacheEntry(kv.key, kv.value, kv.modRevision, this.#decode);
  }

  /** The state that a deletion at `expected` would remove, or what is there instead. */
  async #version(
    key: string,
    expected: Revision,
    signal: AbortSignal | undefined,
  ): Promise<{ entry: CacheEntry } | { current: CacheEntry | undefined }> {
    const known = this.#state.known(key, expected);
    if (known !== undefined) return { entry: known };
    const range = { start: key, end: `${key}\0`, ...(signal && { signal }) };
    const { kvs } = await this.#translated(() => this.#options.store.range(range));
    const current = this.#current(kvs[0]);
    return current?.revision === expected ? { entry: current } : { current };
  }

  async #translated<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (err) {
      throw statusFromStore(err);
    }
  }
}

function uidOf(entry: CacheEntry): unknown {
  const object = entry.object() as { metadata?: { uid?: unknown } };
  return object.metadata?.uid;
}
