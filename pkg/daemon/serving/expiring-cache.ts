/** Answers kept for a time, bounded in number; equal questions asked at the same moment are asked once. */
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';

interface Entry<V> {
  readonly answer: V;
}

export class ExpiringCache<V> {
  readonly #answers: LruCache<string, Entry<V>>;
  readonly #pending = new Map<string, Promise<V>>();

  /** `ttlMs`: how long an answer is kept; zero or less means not at all. */
  constructor({ clock, limit, ttlMs }: { clock: Clock; limit: number; ttlMs: (answer: V) => number }) {
    this.#answers = new LruCache({ limit, age: { clock, ttlMs: ({ answer }) => ttlMs(answer) } });
  }

  /** The kept answer or the one that `ask` gives. Failures are not kept. */
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
