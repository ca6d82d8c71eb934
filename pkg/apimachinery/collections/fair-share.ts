/**
 * Divides places among those that ask for them, by a dynamic threshold: each may have a multiple of what is free. So one
 * alone has much, and there is always room for another.
 */
export interface FairShareOptions {
  /** All places; 0: no limit. */
  readonly limit: number;
  /** One may hold this many times the free places: 1 for at most half of all, 4 for four fifths. */
  readonly factor: number;
}

export class FairShare<K> {
  readonly #options: FairShareOptions;
  readonly #held = new Map<K, number>();
  #size = 0;

  constructor(options: FairShareOptions) {
    this.#options = options;
  }

  /** Places in use. */
  get size(): number {
    return this.#size;
  }

  /** Takes a place. Undefined without one; otherwise a function that returns it, which may be called again. */
  take(owner: K): (() => void) | undefined {
    const { factor, limit } = this.#options;
    const held = this.#held.get(owner) ?? 0;
    const free = limit - this.#size;
    if (limit > 0 && (free <= 0 || (held > 0 && held >= free * factor))) return undefined;
    this.#held.set(owner, held + 1);
    this.#size += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#size -= 1;
      const left = (this.#held.get(owner) ?? 1) - 1;
      if (left === 0) this.#held.delete(owner);
      else this.#held.set(owner, left);
    };
  }
}
