/** Answers kept for a time, bounded in number; equal questions asked at the same moment are asked once. */
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';

interface Kept<V> {
  readonly answer: V;
}

export class ExpiringCache<V> {
  readonly #kept: LruCache<string, Kept<V>>;
  readonly #asked = new Map<string, Promise<V>>();

  /** `ttlMs`: how long an answer is kept; zero or less means not at all. */
  constructor({ clock, limit, ttlMs }: { clock: Clock; limit: number; ttlMs: (answer: V) => number }) {
    this.#kept = new LruCache({ limit, age: { clock, ttlMs: ({ answer }) => ttlMs(answer) } });
  }

  /** The kept answer or the one that `ask` gives. Failures are not kept. */
  get(key: string, ask: () => Promise<V>): Promise<V> {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return Promise.resolve(kept.answer);
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    const asking = ask()
      .then((answer) => {
        this.#kept.set(key, { answer });
        return answer;
      })
      .finally(() => this.#asked.delete(key));
    this.#asked.set(key, asking);
    return asking;
  }
}
