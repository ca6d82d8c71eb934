/**
 * Keeps the entries used last, each for a limited time if told so.
 *
 * Our own: the package of the same name would do, at 3 ms more of every program's start and 0.3 MB more of memory, and
 * reads the clock by itself, which tests under a virtual clock cannot have.
 */
import type { Clock } from '#apimachinery/clock.js';

export interface LruCacheOptions<V> {
  /** Most entries kept. */
  readonly limit: number;
  /** Without it entries do not age. */
  readonly age?: {
    readonly clock: Clock;
    /** How long a value is kept from when it was set; zero or less: not at all. Asked once for each. */
    readonly ttlMs: (value: V) => number;
  };
  /** Hears of what is dropped because newer entries need its place. */
  readonly onEvict?: (value: V) => void;
}

interface Entry<V> {
  readonly value: V;
  /** Of the monotonic clock, ms. */
  readonly untilMs: number;
}

export class LruCache<K, V> {
  readonly #options: LruCacheOptions<V>;
  /** In the order of their last use. */
  readonly #entries = new Map<K, Entry<V>>();

  constructor(options: LruCacheOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** All, aged ones too; those used last come last. */
  *entries(): Iterable<[key: K, value: V]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { limit, age } = this.#options;
    const old = age !== undefined && entry.untilMs <= age.clock.monotonic();
    // As long as there is much room the order does not matter.
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
