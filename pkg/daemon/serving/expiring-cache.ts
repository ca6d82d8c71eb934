/** A bounded cache with expiration. Concurrent requests for a key share one call. */
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';

interface Entry<V> {
  readonly answer: V;
}

export class ExpiringCache<V> {
  readonly #answers: LruCache<string, Entry<V>>;
  readonly #pending = new Map<string, Promise<V>>();

  /** `ttlMs`: lifetime of an answer; zero or less means not cached. */
  constructor({ clock, limit, ttlMs }: { clock: Clock; limit: number; ttlMs: (answer: V) => number }) {
    this.#answers = new LruCache({ limit, age: { clock, ttlMs: ({ answer }) => ttlMs(answer) } });
  }

  /** Returns the cached answer, or calls `ask`. Failures are not cached. */
  get(key: string, ask: () => Promise<V>): Promise<V> {
    const entry = this.#answers.get(key);
    if (entry !== undefined) return Promise.resolve(entry.answer);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const asking = ask()
      .then((answer) => {
        this.#answers.set(key, { answer });
        return answer;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, asking);
    return asking;
  }
}
