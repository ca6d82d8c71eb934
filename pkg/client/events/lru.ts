/** A map that keeps the `limit` entries used last. */
export class LruMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #limit: number;
  readonly #onEvict: ((value: V) => void) | undefined;

  constructor(limit: number, onEvict?: (value: V) => void) {
    this.#limit = limit;
    this.#onEvict = onEvict;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    const oldest = this.#entries.entries().next().value;
    if (oldest === undefined) return;
    this.#entries.delete(oldest[0]);
    this.#onEvict?.(oldest[1]);
  }
}
