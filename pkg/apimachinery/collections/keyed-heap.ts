/** A binary heap with lookup and removal by key. */
export class KeyedHeap<T, K = string> {
  readonly #items: T[] = [];
  readonly #positions = new Map<K, number>();
  readonly #keyOf: (item: T) => K;
  readonly #before: (a: T, b: T) => boolean;

  constructor(options: { keyOf: (item: T) => K; before: (a: T, b: T) => boolean }) {
    this.#keyOf = options.keyOf;
    this.#before = options.before;
  }

  get size(): number {
    return this.#items.length;
  }

  get(key: K): T | undefined {
    const position = this.#positions.get(key);
    return position === undefined ? undefined : this.#items[position];
  }

  /** All items, unordered. */
  values(): Iterable<T> {
    return this.#items;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  /** Adds the item or replaces the item with the same key. */
  push(item: T): void {
    const position = this.#positions.get(this.#keyOf(item));
    if (position === undefined) {
      this.#items.push(item);
      this.#positions.set(this.#keyOf(item), this.#items.length - 1);
      this.#up(this.#items.length - 1);
    } else {
      this.#items[position] = item;
      this.#up(position);
      this.#down(position);
    }
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.remove(this.#keyOf(first));
    return first;
  }

  remove(key: K): T | undefined {
    const position = this.#positions.get(key);
    if (position === undefined) return undefined;
    const item = this.#items[position];
    const last = this.#items.pop();
    this.#positions.delete(key);
    if (last !== undefined && position < this.#items.length) {
      this.#set(position, last);
      this.#up(position);
      this.#down(position);
    }
    return item;
  }

  clear(): void {
    this.#items.length = 0;
    this.#positions.clear();
  }

  #up(from: number): void {
    let position = from;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      if (!this.#isBefore(position, parent)) return;
      this.#swap(position, parent);
      position = parent;
    }
  }

  #down(from: number): void {
    let position = from;
    for (;;) {
      let best = position;
      for (const child of [2 * position + 1, 2 * position + 2]) {
        if (child < this.#items.length && this.#isBefore(child, best)) best = child;
      }
      if (best === position) return;
      this.#swap(position, best);
      position = best;
    }
  }

  #isBefore(a: number, b: number): boolean {
    return this.#before(this.#items[a] as T, this.#items[b] as T);
  }

  #swap(a: number, b: number): void {
    const one = this.#items[a] as T;
    this.#set(a, this.#items[b] as T);
    this.#set(b, one);
  }

  #set(position: number, item: T): void {
    this.#items[position] = item;
    this.#positions.set(this.#keyOf(item), position);
  }
}
