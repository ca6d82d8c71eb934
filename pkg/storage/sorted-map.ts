/**
 * A sorted map of strings: a list of sorted chunks of bounded size, so that inserting into 50,000 keys moves at most one
 * chunk, a scan walks plain arrays, and a snapshot copies only the list of chunks (chunks are copied on write).
 * Order is that of UTF-16 code units, which equals etcd's byte order for the ASCII keys used here.
 */

/** Keys per chunk after which it is split in two. */
const maxChunkKeys = 512;
/** Keys per chunk after loading: room for some more before chunks are split. */
const loadedChunkKeys = 384;

interface Chunk<V> {
  readonly keys: string[];
  readonly values: V[];
  /** Generation that may change the chunk in place; an older one is shared with a snapshot. */
  readonly generation: number;
}

/** Half-open range of keys; an absent bound is open. */
export interface KeyRange {
  readonly start?: string;
  readonly end?: string | undefined;
}

/** An immutable view: the map as it was when the view was taken. */
export class SortedView<V> {
  readonly #chunks: readonly Chunk<V>[];
  readonly size: number;

  constructor(chunks: readonly Chunk<V>[], size: number) {
    this.#chunks = chunks;
    this.size = size;
  }

  get(key: string): V | undefined {
    return lookUp(this.#chunks, key);
  }

  /** Values of the range in key order, at most `limit` (0 = all). */
  slice(range: KeyRange, limit = 0): V[] {
    return slice(this.#chunks, range, limit);
  }

  /** Number of keys in the range. */
  count(range: KeyRange): number {
    return count(this.#chunks, this.size, range);
  }
}

export class SortedMap<V> {
  #chunks: Chunk<V>[] = [];
  #size = 0;
  #generation = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return lookUp(this.#chunks, key);
  }

  /** Sets the value and returns the one that was there. */
  set(key: string, value: V): V | undefined {
    if (this.#chunks.length === 0) {
      this.#chunks.push({ keys: [key], values: [value], generation: this.#generation });
      this.#size = 1;
      return undefined;
    }
    const at = chunkIndex(this.#chunks, key);
    const chunk = this.#own(at);
    const position = lowerBound(chunk.keys, key);
    if (chunk.keys[position] === key) {
      const before = chunk.values[position];
      chunk.values[position] = value;
      // The value may have the same string.
      chunk.keys[position] = key;
      return before;
    }
    chunk.keys.splice(position, 0, key);
    chunk.values.splice(position, 0, value);
    this.#size++;
    if (chunk.keys.length > maxChunkKeys) this.#split(at, chunk);
    return undefined;
  }

  /** Removes the key and returns its value. */
  delete(key: string): V | undefined {
    if (this.#chunks.length === 0) return undefined;
    const at = chunkIndex(this.#chunks, key);
    const keys = this.#chunks[at]?.keys ?? [];
    const position = lowerBound(keys, key);
    if (keys[position] !== key) return undefined;
    const chunk = this.#own(at);
    const [before] = chunk.values.splice(position, 1);
    chunk.keys.splice(position, 1);
    this.#size--;
    if (chunk.keys.length === 0) this.#chunks.splice(at, 1);
    return before;
  }

  /** Replaces everything by these pairs, whose keys are sorted and distinct. */
  load(keys: readonly string[], values: readonly V[]): void {
    this.#chunks = [];
    for (let from = 0; from < keys.length; from += loadedChunkKeys) {
      const to = from + loadedChunkKeys;
      this.#chunks.push({
        keys: keys.slice(from, to),
        values: values.slice(from, to),
        generation: this.#generation,
      });
    }
    this.#size = keys.length;
  }

  slice(range: KeyRange, limit = 0): V[] {
    return slice(this.#chunks, range, limit);
  }

  count(range: KeyRange): number {
    return count(this.#chunks, this.#size, range);
  }

  /** The map as it is now; later changes do not show in it. */
  snapshot(): SortedView<V> {
    this.#generation++;
    return new SortedView(this.#chunks.slice(), this.#size);
  }

  /** The chunk, made this generation's own so that snapshots do not see it change. */
  #own(at: number): Chunk<V> {
    const chunk = this.#chunks[at];
    if (chunk === undefined) throw new RangeError('no such chunk');
    if (chunk.generation === this.#generation) return chunk;
    const copy = { keys: chunk.keys.slice(), values: chunk.values.slice(), generation: this.#generation };
    this.#chunks[at] = copy;
    return copy;
  }

  #split(at: number, chunk: Chunk<V>): void {
    // Keys mostly arrive in order: cutting behind the last key keeps chunks full then.
    const appended = at === this.#chunks.length - 1;
    const half = appended ? maxChunkKeys : maxChunkKeys >> 1;
    const keys = chunk.keys.splice(half);
    const values = chunk.values.splice(half);
    this.#chunks.splice(at + 1, 0, { keys, values, generation: this.#generation });
  }
}

/** Index of the chunk that holds `key` or would: the last whose first key is not greater. */
function chunkIndex(chunks: readonly Chunk<unknown>[], key: string): number {
  return Math.max(0, firstIndex(chunks, ({ keys }) => (keys[0] ?? '') > key) - 1);
}

/** First position whose key is not less than `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  return firstIndex(keys, (each) => each >= key);
}

/** The first, from the one at `from` on, of which that holds, as it does of all behind it; the length where there is none. */
export function firstIndex<T>(items: readonly T[], holds: (item: T) => boolean, from = 0): number {
  let low = from;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function lookUp<V>(chunks: readonly Chunk<V>[], key: string): V | undefined {
  const chunk = chunks[chunkIndex(chunks, key)];
  if (chunk === undefined) return undefined;
  const position = lowerBound(chunk.keys, key);
  return chunk.keys[position] === key ? chunk.values[position] : undefined;
}

function slice<V>(chunks: readonly Chunk<V>[], range: KeyRange, limit: number): V[] {
  const { start = '', end } = range;
  const parts: (readonly V[])[] = [];
  const first = chunkIndex(chunks, start);
  let room = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  for (let at = first; at < chunks.length && room > 0; at++) {
    const { keys, values } = chunks[at] as Chunk<V>;
    const last = keys[keys.length - 1] ?? '';
    const until = end === undefined || last < end ? keys.length : lowerBound(keys, end);
    const from = at === first ? lowerBound(keys, start) : 0;
    const to = Math.min(until, from + room);
    if (from < to) parts.push(from === 0 && to === values.length ? values : values.slice(from, to));
    room -= Math.max(0, to - from);
    if (until < keys.length) break;
  }
  // All at once into an array of the right size: it is never copied while it grows.
  return ([] as V[]).concat(...parts);
}

function count(chunks: readonly Chunk<unknown>[], size: number, range: KeyRange): number {
  const { start = '', end } = range;
  if (start === '' && end === undefined) return size;
  const from = rank(chunks, start);
  return Math.max(0, (end === undefined ? size : rank(chunks, end)) - from);
}

/** Number of keys less than `key`. */
function rank(chunks: readonly Chunk<unknown>[], key: string): number {
  const at = chunkIndex(chunks, key);
  let before = 0;
  for (let i = 0; i < at; i++) before += chunks[i]?.keys.length ?? 0;
  return before + lowerBound(chunks[at]?.keys ?? [], key);
}
