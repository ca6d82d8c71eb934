/** Writes of one resource to the store; adds their results to the cache before the watch reports them. */
import { CacheEntry, type EntryContext } from '#storage/cache/cache-entry.js';
import type { CacheState } from '#storage/cache/state.js';
import { statusFromStore } from '#storage/errors.js';
import type { ConditionalOptions, ConditionalResult, PutOptions } from '#storage/resource-storage.js';
import type { Guard, KeyValue, Revision, Store, WriteOptions, WriteResult } from '#storage/store.js';

export interface CacheWritesOptions {
  readonly store: Store;
  readonly state: CacheState;
  readonly context: EntryContext;
}

type Write = (options: WriteOptions) => Promise<WriteResult>;

/** See ResourceStorage; with full keys. */
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

  /** The write of a companion update has succeeded. */
  companionWritten(key: string, stored: Buffer, revision: Revision): CacheEntry {
    return this.#wrote(key, stored, revision);
  }

  /** One write, repeated while only its guards fail. */
  #guarded(options: PutOptions, write: Write): Promise<WriteResult> {
    // Most writes have no conditions.
    return (options.conditions ?? []).length === 0 ? unguarded(options, write) : this.#underConditions(options, write);
  }

  async #underConditions({ conditions = [], ...options }: PutOptions, write: Write): Promise<WriteResult> {
    const given: (readonly Guard[])[] = [];
    let revision: Revision | undefined;
    try {
      // Sequentially: resources reserved by one condition must not be requested after another has refused.
      for (const condition of conditions) given.push(await condition.guards(undefined, options.signal));
      for (;;) {
        const guards = given.flat();
        const result = await write(guards.length === 0 ? options : { ...options, guards });
        if (result.ok && result.putApart !== true) revision = result.revision;
        if (result.ok || result.failedGuards === undefined) return result;
        for (const [i, condition] of conditions.entries()) {
          const failed = result.failedGuards.filter((guard) => given[i]?.includes(guard));
          if (failed.length > 0) given[i] = await condition.guards(failed, options.signal);
        }
      }
    } catch (err) {
      throw statusFromStore(err);
    } finally {
      for (const condition of conditions) condition.settled?.(revision);
    }
  }

  #wrote(key: string, stored: Buffer, revision: Revision): CacheEntry {
    const { state, context } = this.#options;
    const entry =
      state.cachedAt(key, revision) ?? new CacheEntry({ key, value: stored, modRevision: revision }, context);
    state.wrote(key, revision, entry);
    return entry;
  }

  #current(kv: KeyValue | undefined): CacheEntry | undefined {
    const { state, context } = this.#options;
    if (kv === undefined) return undefined;
    return state.cachedAt(kv.key, kv.modRevision) ?? new CacheEntry(kv, context);
  }

  /** The state that a deletion at `expected` would remove, or the key's actual state. */
  async #lastState(key: string, expected: Revision, options: WriteOptions): Promise<CacheEntry | undefined> {
    const { store, state } = this.#options;
    const cached = state.cachedAt(key, expected);
    if (cached !== undefined) return cached;
    try {
      const { kvs } = await store.range({ start: key, end: `${key}\0`, ...options });
      return this.#current(kvs[0]);
    } catch (err) {
      throw statusFromStore(err);
    }
  }
}

async function unguarded(options: WriteOptions, write: Write): Promise<WriteResult> {
  try {
    return await write(options);
  } catch (err) {
    throw statusFromStore(err);
  }
}
