/** The storage of a resource for the API server: reads and watches from memory, writes to the store. */

import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Omissions } from '#apimachinery/codec/json/omit-members.js';
import type { Logger } from '#daemon/log/logger.js';
import {
  type CacheEntry,
  type Decode,
  decodeJson,
  type EntryContext,
  ParsedEntries,
} from '#storage/cache/cache-entry.js';
import { CacheReads } from '#storage/cache/reads.js';
import { type SelfCheckOptions, selfCheck, selfCheckRegularly } from '#storage/cache/self-check.js';
import { CacheState, Feed } from '#storage/cache/state.js';
import { type WatchEnvironment, WatchSession } from '#storage/cache/watch-session.js';
import { CacheWrites } from '#storage/cache/writes.js';
import type { ValueTransformer } from '#storage/encryption/transformer.js';
import { readEvents, storedForm, TransformingStore } from '#storage/encryption/transforming-store.js';
import { MeasuredStore } from '#storage/forwarding-store.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { Packing } from '#storage/packing/packing.js';
import type {
  CompanionUpdate,
  ConditionalOptions,
  ConditionalResult,
  Entry,
  ListOptions,
  ListResult,
  PutOptions,
  ReadVersion,
  ResourceStorage,
  ResourceWatch,
  ResourceWatchOptions,
} from '#storage/resource-storage.js';
import type { Revision, Store, StoreEvent } from '#storage/store.js';

export interface WatchCacheOptions {
  readonly store: Store;
  /** Transforms stored values; absent: they stay as they are. */
  readonly transformer?: ValueTransformer | undefined;
  /** `remember` will be called; watches from before the cache was filled wait for it. */
  readonly awaitsHistory?: boolean;
  /** The resource's key prefix with a trailing slash: `/registry/pods/`. */
  readonly prefix: string;
  /** The resource's name in logs and metrics: `pods`, `deployments.apps`. */
  readonly resource: string;
  /** Label of list metrics; absent: `/` and the last part of the prefix. */
  readonly countedAs?: string;
  readonly clock: Clock;
  /** Shared by all caches of a server. */
  readonly turns: TurnQueue;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  /** Parses served bytes; absent: as JSON. */
  readonly decode?: Decode;
  /** Members omitted in outlines; absent: none. */
  readonly bulk?: Omissions | undefined;
  /** See `EntryContext`. */
  readonly upgraded?: EntryContext['upgraded'];
  /** Shared by all caches of a server; absent: its own. */
  readonly packing?: Packing;
  /** Time limit of waiting for a version or for the filling of the cache. 1.24 waits 3 s. */
  readonly waitMs?: number;
  /** Limit of queued events per watcher. */
  readonly watchBufferSize?: number;
  /** Limit of changes kept for watches that resume. */
  readonly historyCapacity?: number;
  /** Limit of the size of their objects; bytes. */
  readonly historyMaxBytes?: number;
  /** Maximal age of changes and of snapshots for paging. */
  readonly historyMaxAgeMs?: number;
  /** Period of bookmarks. */
  readonly bookmarkPeriodMs?: number;
  /** Period of the comparison with the store after changes; 0: never. */
  readonly selfCheckPeriodMs?: number;
}

const defaults = {
  waitMs: 3000,
  watchBufferSize: 1000,
  historyCapacity: 10_000,
  historyMaxBytes: 32 * 1024 * 1024,
  historyMaxAgeMs: 5 * 60_000,
  bookmarkPeriodMs: 60_000,
  selfCheckPeriodMs: 10 * 60_000,
};

export class WatchCache implements ResourceStorage {
  readonly prefix: string;
  readonly #options: WatchCacheOptions & typeof defaults & { readonly context: EntryContext };
  readonly #state: CacheState;
  #watching: WatchEnvironment | undefined;
  readonly #feed: Feed;
  readonly #reads: CacheReads;
  readonly #writes: CacheWrites;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(given: WatchCacheOptions) {
    const { transformer, awaitsHistory = false, resource, clock, metrics } = given;
    const measured = new MeasuredStore(given.store, { resource, clock, metrics });
    const store = transformer === undefined ? measured : new TransformingStore(measured, transformer);
    const { decode = decodeJson, packing = new Packing(), bulk, upgraded } = given;
    const context = { decode, packing, parsed: new ParsedEntries(), bulk, upgraded };
    const options = { ...defaults, ...given, store, context };
    this.#options = options;
    metrics.cacheCapacity.set({ resource }, options.historyCapacity);
    this.prefix = options.prefix;
    const { historyCapacity, historyMaxBytes, historyMaxAgeMs } = options;
    const sameObject = (a: CacheEntry, b: CacheEntry) => uidOf(a) === uidOf(b);
    const state = new CacheState({ clock, historyCapacity, historyMaxBytes, historyMaxAgeMs, sameObject });
    this.#state = state;
    if (!awaitsHistory) state.settleHistory();
    this.#feed = new Feed({ ...options, state });
    const countedAs = options.countedAs ?? `/${options.prefix.split('/').at(-2)}`;
    const currentRevision = (signal?: Cancellation) => given.store.currentRevision(signal);
    this.#reads = new CacheReads({ ...options, state, countedAs, currentRevision });
    this.#writes = new CacheWrites({ ...options, state });
  }

  /** Fills the cache and follows the store until the signal aborts or `close` is called. Never rejects. */
  start(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
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

  /** The resource's name in logs and metrics. */
  get resource(): string {
    return this.#options.resource;
  }

  /** Number of cached objects. */
  get size(): number {
    return this.#state.entries.size;
  }

  /** The revision up to which the cache is complete. */
  get revision(): Revision {
    return this.#state.revision;
  }

  /** Revision of the last change of an object. */
  get changedAt(): Revision {
    return this.#state.changedAt;
  }

  /** Adds changes from before the cache was filled, so that watches can resume there; undefined: not available. */
  remember(past: { readonly since: Revision; readonly events: readonly StoreEvent[] } | undefined): void {
    const { transformer, context } = this.#options;
    if (past === undefined) {
      this.#state.settleHistory();
      return;
    }
    const { since, events } = past;
    const add = (read: readonly StoreEvent[]) => this.#state.remember({ since, events: read, context });
    const read = transformer === undefined ? events : readEvents(transformer, events);
    if (!(read instanceof Promise)) {
      add(read);
      this.#state.settleHistory();
      return;
    }
    // Without the keys of the history, watches list again.
    const settle = () => this.#state.settleHistory();
    void read.then(add, () => undefined).then(settle, settle);
  }

  get(key: string, version: ReadVersion, signal?: Cancellation): Promise<Entry | undefined> {
    return this.#reads.get(key, version, signal);
  }

  list(options: ListOptions): Promise<ListResult> {
    return this.#reads.list(options);
  }

  cached(key: string): Entry | undefined {
    return this.#reads.cached(key);
  }

  cachedIn(scope: string): readonly Entry[] {
    return this.#reads.cachedIn(scope);
  }

  watch(options: ResourceWatchOptions): ResourceWatch {
    this.#watching ??= this.#watchEnvironment();
    return new WatchSession(this.#watching, options);
  }

  #watchEnvironment(): WatchEnvironment {
    const { store, watchBufferSize } = this.#options;
    return {
      ...this.#options,
      state: this.#state,
      reach: (version, signal) => this.#reads.reach(version, signal),
      recall: (revision, signal) => this.#reads.recall(revision, signal),
      requestProgress: () => store.requestProgress(this.prefix),
      bufferSize: watchBufferSize,
      stopped: this.#stop.signal,
    };
  }

  create(key: string, stored: Buffer, options?: PutOptions): Promise<Entry | undefined> {
    return this.#writes.create(this.prefix + key, stored, options);
  }

  update(key: string, stored: Buffer, expected: Revision, options?: PutOptions): Promise<ConditionalResult> {
    return this.#writes.update(this.prefix + key, stored, expected, options);
  }

  companionUpdate(key: string, stored: Buffer, expected: Revision): MaybePromise<CompanionUpdate> {
    const fullKey = this.prefix + key;
    const { transformer } = this.#options;
    const update = (value: Buffer): CompanionUpdate => ({
      guard: { key: fullKey, modRevision: expected, value },
      written: (revision) => this.#writes.companionWritten(fullKey, stored, revision),
    });
    return transformer === undefined ? update(stored) : andThen(storedForm(transformer, stored, fullKey), update);
  }

  delete(key: string, expected: Revision, options?: ConditionalOptions): Promise<ConditionalResult> {
    return this.#writes.delete(this.prefix + key, expected, options);
  }

  /**
   * Compares the cache with the store at one revision. A difference is counted and logged, and the cache is filled
   * again. Throws StoreErrors if the store does not answer or has compacted the revision.
   */
  selfCheck(): Promise<boolean> {
    return selfCheck(this.#selfCheckOptions(), this.#stop.signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { selfCheckPeriodMs } = this.#options;
    const stop = () => this.#stop.abort();
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    const checking =
      selfCheckPeriodMs > 0
        ? selfCheckRegularly(this.#selfCheckOptions(), selfCheckPeriodMs, this.#stop.signal)
        : undefined;
    await Promise.all([this.#feed.run(this.#stop.signal), checking]);
    signal.removeEventListener('abort', stop);
    this.#state.endWatchers();
    this.#state.snapshots.clear();
  }

  #selfCheckOptions(): SelfCheckOptions {
    return {
      ...this.#options,
      state: this.#state,
      onMismatch: () => this.#feed.refill(),
    };
  }
}

function uidOf(entry: CacheEntry): unknown {
  if (entry.unreadable !== undefined) return undefined;
  const object = entry.object() as { metadata?: { uid?: unknown } };
  return object.metadata?.uid;
}
