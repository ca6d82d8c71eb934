/** Items that become due later, earliest first; an item is held once, at the earliest instant asked for. */
interface Entry<K> {
  readonly item: K;
  dueMs: number;
  index: number;
}

export class DelayHeap<K> {
  readonly #heap: Entry<K>[] = [];
  readonly #entries = new Map<K, Entry<K>>();

  get size(): number {
    return this.#heap.length;
  }

  /** When the first item becomes due; undefined when there is none. */
  get nextDueMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  /** Holds the item until `dueMs`; an item that is held already keeps the earlier instant. */
  add(item: K, dueMs: number): void {
    const known = this.#entries.get(item);
    if (known !== undefined) {
      if (dueMs >= known.dueMs) return;
      known.dueMs = dueMs;
      this.#up(known);
      return;
    }
    const entry = { item, dueMs, index: this.#heap.length };
    this.#heap.push(entry);
    this.#entries.set(item, entry);
    this.#up(entry);
  }

  /** Removes and returns the first item when it is due at `nowMs`. */
  popDue(nowMs: number): K | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.dueMs > nowMs) return undefined;
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) {
      last.index = 0;
      this.#heap[0] = last;
      this.#down(last);
    }
    this.#entries.delete(first.item);
    return first.item;
  }

  clear(): void {
    this.#heap.length = 0;
    this.#entries.clear();
  }

  #up(entry: Entry<K>): void {
    while (entry.index > 0) {
      const parent = this.#heap[(entry.index - 1) >> 1];
      if (parent === undefined || parent.dueMs <= entry.dueMs) return;
      this.#swap(entry, parent);
    }
  }

  #down(entry: Entry<K>): void {
    for (;;) {
      const left = this.#heap[entry.index * 2 + 1];
      const right = this.#heap[entry.index * 2 + 2];
      const child = right !== undefined && left !== undefined && right.dueMs < left.dueMs ? right : left;
      if (child === undefined || child.dueMs >= entry.dueMs) return;
      this.#swap(child, entry);
    }
  }

  #swap(a: Entry<K>, b: Entry<K>): void {
    const index = a.index;
    a.index = b.index;
    b.index = index;
    this.#heap[a.index] = a;
    this.#heap[b.index] = b;
  }
}
