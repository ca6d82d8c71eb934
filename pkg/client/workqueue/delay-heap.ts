/** Items that become due later, earliest first; an item is held once, at the earliest instant asked for. */
import { KeyedHeap } from '#apimachinery/collections/keyed-heap.js';

interface Entry<K> {
  readonly item: K;
  readonly dueMs: number;
}

export class DelayHeap<K> {
  readonly #heap = new KeyedHeap<Entry<K>, K>({ keyOf: (e) => e.item, before: (a, b) => a.dueMs < b.dueMs });

  get size(): number {
    return this.#heap.size;
  }

  /** When the first item becomes due; undefined when there is none. */
  get nextDueMs(): number | undefined {
    return this.#heap.peek()?.dueMs;
  }

  /** All, in no order. */
  entries(): Iterable<Entry<K>> {
    return this.#heap.values();
  }

  /** Holds the item until `dueMs`; an item that is held already keeps the earlier instant. */
  add(item: K, dueMs: number): void {
    const known = this.#heap.get(item);
    if (known === undefined || dueMs < known.dueMs) this.#heap.push({ item, dueMs });
  }

  /** Removes and returns the first item when it is due at `nowMs`. */
  popDue(nowMs: number): K | undefined {
    const first = this.#heap.peek();
    if (first === undefined || first.dueMs > nowMs) return undefined;
    this.#heap.remove(first.item);
    return first.item;
  }

  clear(): void {
    this.#heap.clear();
  }
}
