/** A first-in first-out list with constant-time ends: a growing ring, because `Array.shift` moves every element. */
export class Fifo<T> {
  #ring: (T | undefined)[] = new Array(16);
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#size) & (this.#ring.length - 1)] = item;
    this.#size += 1;
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#size -= 1;
    return item;
  }

  clear(): void {
    this.#ring = new Array(16);
    this.#head = 0;
    this.#size = 0;
  }

  #grow(): void {
    const grown: (T | undefined)[] = new Array(this.#ring.length * 2);
    for (let i = 0; i < this.#size; i += 1) grown[i] = this.#ring[(this.#head + i) & (this.#ring.length - 1)];
    this.#ring = grown;
    this.#head = 0;
  }
}
