/** Storage of a resource that may never be used: its cache and watch begin with the first request. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { WatchCache } from '#storage/cache/watch-cache.js';
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
import type { Revision } from '#storage/store.js';

export interface LazyStorageOptions {
  /** Prefix of the keys: `/registry/stable.example.com/crontabs/`. */
  readonly prefix: string;
  readonly make: () => WatchCache;
  /** Called once, when the storage is closed. */
  readonly ended: () => void;
  /** Aborts when all storages end. */
  readonly stopped: AbortSignal;
}

export class LazyStorage implements ResourceStorage {
  readonly prefix: string;
  readonly #options: LazyStorageOptions;
  #cache: WatchCache | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: LazyStorageOptions) {
    this.prefix = options.prefix;
    this.#options = options;
  }

  /** True after the first request. */
  get isUsed(): boolean {
    return this.#cache !== undefined;
  }

  /** Number of objects; undefined before the first request. */
  get size(): number | undefined {
    return this.#cache?.size;
  }

  #storage(): WatchCache {
    if (this.#cache === undefined) {
      this.#cache = this.#options.make();
      // Requests after the end get a cache that stays empty.
      this.#running = this.#closed ? undefined : this.#cache.start(this.#options.stopped);
    }
    return this.#cache;
  }

  /** Ends the cache and its watches. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#cache?.close();
    await this.#running;
    this.#options.ended();
  }

  ready(): boolean {
    return this.#storage().ready();
  }

  waitReady(signal?: AbortSignal): Promise<void> {
    return this.#storage().waitReady(signal);
  }

  get(key: string, version: ReadVersion, signal?: Cancellation): Promise<Entry | undefined> {
    return this.#storage().get(key, version, signal);
  }

  list(options: ListOptions): Promise<ListResult> {
    return this.#storage().list(options);
  }

  cached(key: string): Entry | undefined {
    return this.#storage().cached(key);
  }

  cachedIn(scope: string): readonly Entry[] {
    return this.#storage().cachedIn(scope);
  }

  watch(options: ResourceWatchOptions): ResourceWatch {
    return this.#storage().watch(options);
  }

  create(key: string, stored: Buffer, options?: PutOptions): Promise<Entry | undefined> {
    return this.#storage().create(key, stored, options);
  }

  update(key: string, stored: Buffer, expected: Revision, options?: PutOptions): Promise<ConditionalResult> {
    return this.#storage().update(key, stored, expected, options);
  }

  companionUpdate(key: string, stored: Buffer, expected: Revision): MaybePromise<CompanionUpdate> {
    return this.#storage().companionUpdate(key, stored, expected);
  }

  delete(key: string, expected: Revision, options?: ConditionalOptions): Promise<ConditionalResult> {
    return this.#storage().delete(key, expected, options);
  }
}
