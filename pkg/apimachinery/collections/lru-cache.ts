/**
 * A cache of recently used entries, optionally with a time to live.
 *  Not the package `lru-cache`: it costs 3 ms of startup and 0.3 MB of memory, and reads the clock itself, which tests
 *  under a virtual clock cannot replace.
 */
import type { Clock } from '#apimachinery/clock.js';

export interface LruCacheOptions<V> {
  /** Maximum number of entries. */
  readonly limit: number;
  /** Without it entries do not expire. */
  readonly age?: {
    readonly clock: Pick<Clock, 'monotonic'>;
    /** Time to live from when the value is set; zero or less: not cached. Called once per value. */
    readonly ttlMs: (value: V) => number;
  };
  /** Called with values that are evicted for newer entries. */
  readonly onEvict?: (value: V) => void;
}

interface Entry<V> {
  readonly value: V;
  /** Monotonic clock, ms. */
  readonly untilMs: number;
}

export class LruCache<K, V> {
  readonly #options: LruCacheOptions<V>;
  /** Ordered by last use. */
  readonly #entries = new Map<K, Entry<V>>();

  constructor(options: LruCacheOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** All entries, including expired ones; the most recently used come last. */
  *entries(): Iterable<[key: K, value: V]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { limit, age } = this.#options;
    const old = age !== undefined && entry.untilMs <= age.clock.monotonic();
    // Below half of the limit the order does not matter.
    const crowded = this.#entries.size * 2 > limit;
    if (old || crowded) this.#entries.delete(key);
    if (old) return undefined;
    if (crowded) this.#entries.set(key, entry);
    return entry.value;
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  set(key: K, value: V): void {
    const { limit, age, onEvict } = this.#options;
    this.#entries.delete(key);
    const ttlMs = age === undefined ? Number.POSITIVE_INFINITY : age.ttlMs(value);
    if (ttlMs <= 0) return;
    this.#entries.set(key, { value, untilMs: age === undefined ? ttlMs : age.clock.monotonic() + ttlMs });
    if (this.#entries.size <= limit) return;
    for (const [oldest, dropped] of this.#entries) {
      this.#entries.delete(oldest);
      onEvict?.(dropped.value);
      return;
    }
  }
}
