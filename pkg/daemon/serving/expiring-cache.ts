/** Answers kept for a time, bounded in number; equal questions asked at the same moment are asked once. */
import type { Clock } from '#apimachinery/clock.js';

interface Entry<V> {
  readonly value: V;
  readonly expiresAtMs: number;
}

export class ExpiringCache<V> {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #ttlMs: (value: V) => number;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #asked = new Map<string, Promise<V>>();

  /** `ttlMs`: how long an answer is kept; zero or less means not at all. */
  constructor(options: { clock: Clock; limit: number; ttlMs: (value: V) => number }) {
    this.#clock = options.clock;
    this.#limit = options.limit;
    this.#ttlMs = options.ttlMs;
  }

  /** The kept answer or the one that `ask` gives. Failures are not kept. */
  get(key: string, ask: () => Promise<V>): Promise<V> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.expiresAtMs > this.#clock.monotonic()) return Promise.resolve(entry.value);
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    const asking = ask()
      .then((value) => {
        this.#keep(key, value);
        return value;
      })
      .finally(() => this.#asked.delete(key));
    this.#asked.set(key, asking);
    return asking;
  }

  #keep(key: string, value: V): void {
    const ttlMs = this.#ttlMs(value);
    this.#entries.delete(key);
    if (ttlMs <= 0) return;
    this.#entries.set(key, { value, expiresAtMs: this.#clock.monotonic() + ttlMs });
    // In order of insertion: the first one is the oldest.
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limit) break;
      this.#entries.delete(oldest);
    }
  }
}
