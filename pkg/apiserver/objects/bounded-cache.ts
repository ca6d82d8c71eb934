/** Remembers the newest results, each for a limited time; the least recently used go first. */
import type { Clock } from '#apimachinery/clock.js';

export interface BoundedCacheOptions {
  readonly clock: Clock;
  /** Most entries kept. */
  readonly size: number;
  readonly ttlMs: number;
}

export class BoundedCache<V> {
  readonly #options: BoundedCacheOptions;
  /** In the order of their last use. */
  readonly #entries = new Map<string, { readonly value: V; readonly until: number }>();

  constructor(options: BoundedCacheOptions) {
    this.#options = options;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { clock, size } = this.#options;
    const old = entry.until <= clock.monotonic();
    // As long as there is much room the order does not matter.
    const crowded = this.#entries.size * 2 > size;
    if (old || crowded) this.#entries.delete(key);
    if (old) return undefined;
    if (crowded) this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: V): void {
    const { clock, size, ttlMs } = this.#options;
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: clock.monotonic() + ttlMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= size) break;
      this.#entries.delete(oldest);
    }
  }
}
