/** Writes of one resource: to the store, and their results into the cache before the store's watch reports them. */
import { CacheEntry, type Decode } from '#storage/cache/cache-entry.js';
import type { CacheState } from '#storage/cache/state.js';
import { statusFromStore } from '#storage/errors.js';
import type { ConditionalOptions, ConditionalResult, PutOptions } from '#storage/resource-storage.js';
import type { Guard, KeyValue, Revision, Store, WriteOptions, WriteResult } from '#storage/store.js';

export interface CacheWritesOptions {
  readonly store: Store;
  readonly state: CacheState;
  readonly decode: Decode;
}

/** See ResourceStorage; keys are full ones here. */
export class CacheWrites {
  readonly #options: CacheWritesOptions;

  constructor(options: CacheWritesOptions) {
    this.#options = options;
  }

  async create(key: string, stored: Buffer, options: PutOptions = {}): Promise<CacheEntry | undefined> {
    const { store } = this.#options;
    const result = await this.#guarded(options, (conditions) => store.create(key, stored, conditions));
    return result.ok ? this.#wrote(key, stored, result.revision) : undefined;
  }

  async update(key: string, stored: Buffer, expected: Revision, options: PutOptions = {}): Promise<ConditionalResult> {
    const { store } = this.#options;
    const result = await this.#guarded(options, (conditions) => store.update(key, stored, expected, conditions));
    if (!result.ok) return { ok: false, current: this.#current(result.current) };
    return { ok: true, entry: this.#wrote(key, stored, result.revision) };
  }

  async delete(key: string, expected: Revision, options: ConditionalOptions = {}): Promise<ConditionalResult> {
    const { store, state } = this.#options;
    const last = await this.#lastState(key, expected, options.signal === undefined ? {} : { signal: options.signal });
    if (last?.revision !== expected) return { ok: false, current: last };
    const result = await this.#guarded(options, (conditions) => store.delete(key, expected, conditions));
    if (!result.ok) return { ok: false, current: this.#current(result.current) };
    state.wrote(key, result.revision, undefined);
    return { ok: true, entry: last.at(result.revision) };
  }

  /** One write, tried again as long as nothing but its guard was overtaken. */
  async #guarded(
    { condition, ...options }: PutOptions,
    write: (options: WriteOptions) => Promise<WriteResult>,
  ): Promise<WriteResult> {
    let guard: Guard | undefined;
    for (;;) {
      guard = await condition?.guard(guard, options.signal);
      try {
        const result = await write(guard === undefined ? options : { ...options, guard });
        if (result.ok || result.guardFailed !== true) return result;
      } catch (err) {
        throw statusFromStore(err);
      }
    }
  }

  #wrote(key: string, stored: Buffer, revision: Revision): CacheEntry {
    const { state, decode } = this.#options;
    const entry = state.known(key, revision) ?? new CacheEntry({ key, value: stored, modRevision: revision }, decode);
    state.wrote(key, revision, entry);
    return entry;
  }

  #current(kv: KeyValue | undefined): CacheEntry | undefined {
    const { state, decode } = this.#options;
    if (kv === undefined) return undefined;
    return state.known(kv.key, kv.modRevision) ?? new CacheEntry(kv, decode);
  }

  /** The state that a deletion at `expected` would remove, or what is there instead. */
  async #lastState(key: string, expected: Revision, options: WriteOptions): Promise<CacheEntry | undefined> {
    const { store, state } = this.#options;
    const known = state.known(key, expected);
    if (known !== undefined) return known;
    try {
      const { kvs } = await store.range({ start: key, end: `${key}\0`, ...options });
      return this.#current(kvs[0]);
    } catch (err) {
      throw statusFromStore(err);
    }
  }
}
