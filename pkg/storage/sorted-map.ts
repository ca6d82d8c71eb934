/**
 * A sorted map with string keys: a list of sorted chunks of bounded size. Inserting into 50,000 keys moves at most one
 * chunk, a scan reads plain arrays, and a snapshot copies only the list of chunks (copy on write). The order of UTF-16
 * code units equals etcd's byte order for the ASCII keys used here.
 */

/** Limit of keys per chunk, which is split above it. */
const maxChunkKeys = 512;
/** Keys per chunk after loading, with room for insertions. */
const loadedChunkKeys = 384;

interface Chunk<V> {
  readonly keys: string[];
  readonly values: V[];
  /** Generation that may modify the chunk; older chunks are shared with snapshots. */
  readonly generation: number;
}

/** A half-open range; an absent bound is open. */
export interface KeyRange {
  readonly start?: string;
  readonly end?: string | undefined;
}

/** An immutable snapshot of the map. */
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

  /** Sets a value and returns the previous one. */
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
      // Release the old key string, since the value may share the new one.
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

  /** Replaces the content by these sorted, distinct pairs. */
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

  /** A snapshot; later changes do not affect it. */
  snapshot(): SortedView<V> {
    this.#generation++;
    return new SortedView(this.#chunks.slice(), this.#size);
  }

  /** The chunk, copied if a snapshot shares it. */
  #own(at: number): Chunk<V> {
    const chunk = this.#chunks[at];
    if (chunk === undefined) throw new RangeError('no such chunk');
    if (chunk.generation === this.#generation) return chunk;
    const copy = { keys: chunk.keys.slice(), values: chunk.values.slice(), generation: this.#generation };
    this.#chunks[at] = copy;
    return copy;
  }

  #split(at: number, chunk: Chunk<V>): void {
    // Keys mostly arrive in order: splitting after the last key keeps chunks full.
    const appended = at === this.#chunks.length - 1;
    const half = appended ? maxChunkKeys : maxChunkKeys >> 1;
    const keys = chunk.keys.splice(half);
    const values = chunk.values.splice(half);
    this.#chunks.splice(at + 1, 0, { keys, values, generation: this.#generation });
  }
}

/** Index of the chunk for `key`: the last whose first key is not greater. */
function chunkIndex(chunks: readonly Chunk<unknown>[], key: string): number {
  return Math.max(0, firstIndex(chunks, ({ keys }) => (keys[0] ?? '') > key) - 1);
}

/** First position whose key is not less than `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  return firstIndex(keys, (each) => each >= key);
}

/** Index of the first item from `from` on for which `holds` is true, as for all later items; the length if there is none. */
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
  // One concatenation, so that the array is never copied while growing.
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

/** The first key after all keys that start with `prefix`. */
export function prefixEnd(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
