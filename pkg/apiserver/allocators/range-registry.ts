/**
 * The allocated numbers of one range, kept in the store so that several API servers never allocate a number twice: each
 * change is a compare-and-swap of the whole map.
 *
 * Assumption: a crash between allocating a number and writing the Service may leave the number without an owner (the repair
 * loop frees it), but never a Service without its number.
 */
import type { RangeMetrics } from '#apiserver/allocators/range-metrics.js';
import type { Revision, Store } from '#storage/store.js';

export interface RangeRegistryOptions {
  readonly store: Store;
  /** Key in the store: `/registry/ranges/serviceips`. */
  readonly key: string;
  /** The range as text: data stored for another range is ignored. */
  readonly range: string;
  readonly size: number;
  /** Size of the lower part, which is allocated last. */
  readonly reserved: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly metrics?: RangeMetrics;
}

interface Loaded {
  readonly bitmap: Bitmap;
  /** Revision in the store; undefined if not stored yet. */
  readonly revision: Revision | undefined;
}

/** The stored form. */
interface RangeDocument {
  readonly kind: 'RangeAllocation';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  readonly range: string;
  /** The bits in base64. */
  readonly data: string;
}

export class RangeFullError extends Error {
  override readonly name = 'RangeFullError';
}

class RangeChangedError extends Error {
  override readonly name = 'RangeChangedError';
}

/** Attempts of a compare-and-swap; each failure means that another server succeeded. */
const attempts = 64;

export class RangeRegistry {
  readonly #options: RangeRegistryOptions;
  #last: Loaded | undefined;
  /** Serializes this process's changes, which would only make each other's swap fail. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: RangeRegistryOptions) {
    this.#options = options;
  }

  /** Allocates that number; returns false if it is allocated already. */
  async take(offset: number): Promise<boolean> {
    const isNew = await this.#change((bitmap) => ({ result: !bitmap.has(offset), changed: bitmap.take(offset) }));
    this.#countAttempt(isNew);
    return isNew;
  }

  /** Allocates a free number. Throws RangeFullError. */
  async takeNext(): Promise<number> {
    const { random, reserved, range } = this.#options;
    const offset = await this.#change((bitmap) => {
      const offset = bitmap.next(random, reserved);
      return { result: offset, changed: offset !== undefined && bitmap.take(offset) };
    });
    this.#countAttempt(offset !== undefined);
    if (offset === undefined) throw new RangeFullError(`range ${range} is full`);
    return offset;
  }

  free(offsets: readonly number[]): Promise<void> {
    return this.#change((bitmap) => {
      const allocated = offsets.filter((offset) => bitmap.has(offset));
      for (const offset of allocated) bitmap.free(offset);
      return { result: undefined, changed: allocated.length > 0 };
    });
  }

  #countAttempt(succeeded: boolean): void {
    const { metrics } = this.#options;
    if (succeeded) metrics?.succeeded();
    else metrics?.failed();
  }

  /** The numbers allocated in the store now. */
  async snapshot(): Promise<Bitmap> {
    const loaded = await this.#load();
    this.#count(loaded.bitmap);
    return new Bitmap(this.#options.size, loaded.bitmap.toBuffer());
  }

  /** Runs one change at a time; `step` runs again if another server was faster. */
  #change<R>(step: (bitmap: Bitmap) => { readonly result: R; readonly changed: boolean }): Promise<R> {
    const change = this.#queue.then(() => this.#swap(step));
    this.#queue = change.catch(() => undefined);
    return change;
  }

  async #swap<R>(step: (bitmap: Bitmap) => { readonly result: R; readonly changed: boolean }): Promise<R> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const loaded = this.#last ?? (await this.#load());
      const bitmap = new Bitmap(this.#options.size, loaded.bitmap.toBuffer());
      const { result, changed } = step(bitmap);
      if (!changed) {
        // The remembered state may be stale: refuse only after a fresh read.
        if (this.#last === undefined) return result;
        this.#last = undefined;
        continue;
      }
      if (await this.#write(bitmap, loaded.revision)) return result;
      this.#last = undefined;
    }
    throw new RangeChangedError(`range ${this.#options.range} could not be changed: other servers kept changing it`);
  }

  async #write(bitmap: Bitmap, expected: Revision | undefined): Promise<boolean> {
    const { store, key, range } = this.#options;
    const document: RangeDocument = {
      kind: 'RangeAllocation',
      apiVersion: 'v1',
      metadata: {},
      range,
      data: bitmap.toBuffer().toString('base64'),
    };
    const bytes = Buffer.from(JSON.stringify(document));
    this.#last = undefined;
    const written = await (expected === undefined ? store.create(key, bytes) : store.update(key, bytes, expected));
    if (!written.ok) return false;
    this.#last = { bitmap, revision: written.revision };
    this.#count(bitmap);
    return true;
  }

  #count(bitmap: Bitmap): void {
    const { metrics, size } = this.#options;
    if (metrics === undefined) return;
    const { count } = bitmap;
    metrics.counted(count, size - count);
  }

  async #load(): Promise<Loaded> {
    const { store, key, range, size } = this.#options;
    const { kvs } = await store.range({ start: key, end: `${key}\0` });
    const kv = kvs[0];
    if (kv === undefined) return { bitmap: new Bitmap(size), revision: undefined };
    const document = JSON.parse(kv.value.toString('utf8')) as RangeDocument;
    // If the configured range has changed, the repair loop fills the map from the Services.
    const bytes = document.range === range ? Buffer.from(document.data, 'base64') : undefined;
    return { bitmap: new Bitmap(size, bytes), revision: kv.modRevision };
  }
}

/** Size of the lower part, which is allocated last: a 16th, at least 16 and at most 256 (0 for tiny ranges). */
export function reservedPart(size: number): number {
  const part = Math.min(Math.max(16, Math.floor(size / 16)), 256);
  return part >= size ? 0 : part;
}

/** The allocated numbers of a range: one bit each, least significant bit first. */
export class Bitmap {
  readonly size: number;
  readonly #bytes: Buffer;

  constructor(size: number, bytes?: Buffer) {
    this.size = size;
    this.#bytes = Buffer.alloc(Math.ceil(size / 8));
    bytes?.copy(this.#bytes);
  }

  has(offset: number): boolean {
    return (((this.#bytes[offset >> 3] ?? 0) >> (offset & 7)) & 1) === 1;
  }

  /** Marks the number as allocated; returns false if it is already. */
  take(offset: number): boolean {
    if (this.has(offset)) return false;
    this.#bytes.writeUInt8((this.#bytes[offset >> 3] ?? 0) | (1 << (offset & 7)), offset >> 3);
    return true;
  }

  free(offset: number): void {
    this.#bytes.writeUInt8((this.#bytes[offset >> 3] ?? 0) & ~(1 << (offset & 7)), offset >> 3);
  }

  /**
   * A free number, searched from a random position. The lower part of the range is used last, because users who choose
   * numbers themselves choose low ones. Undefined if the range is full.
   */
  next(random: () => number, reserved: number): number | undefined {
    return this.#search(reserved, this.size, random) ?? this.#search(0, Math.min(reserved, this.size), random);
  }

  /** Allocated numbers. */
  get count(): number {
    let count = 0;
    for (let offset = 0; offset < this.size; offset += 1) if (this.has(offset)) count += 1;
    return count;
  }

  toBuffer(): Buffer {
    return Buffer.from(this.#bytes);
  }

  #search(from: number, to: number, random: () => number): number | undefined {
    const span = to - from;
    if (span <= 0) return undefined;
    const start = Math.floor(random() * span);
    for (let i = 0; i < span; i += 1) {
      const offset = from + ((start + i) % span);
      if (!this.has(offset)) return offset;
    }
    return undefined;
  }
}
