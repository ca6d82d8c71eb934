/**
 * The taken numbers of one range, kept in the store so that several API servers never hand out one number twice: each
 * change is a compare-and-swap of the whole map.
 *
 * Assumption: a number may stay taken without an owner after a crash between taking and writing the Service (the
 * repair loop gives it back), but never the other way round.
 */
import type { RangeMetrics } from '#apiserver/allocators/range-metrics.js';
import type { Revision, Store } from '#storage/store.js';

export interface RangeRegistryOptions {
  readonly store: Store;
  /** `/registry/ranges/serviceips`. */
  readonly key: string;
  /** Text of the range: what is stored for another range is not used. */
  readonly range: string;
  readonly size: number;
  /** Lower part that is handed out last. */
  readonly reserved: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly metrics?: RangeMetrics;
}

interface Loaded {
  readonly bitmap: Bitmap;
  /** Undefined: nothing is stored yet. */
  readonly revision: Revision | undefined;
}

/** What is stored. */
interface RangeDocument {
  readonly kind: 'RangeAllocation';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  readonly range: string;
  /** Base64 of the bits. */
  readonly data: string;
}

export class RangeFullError extends Error {
  override readonly name = 'RangeFullError';
}

class RangeChangedError extends Error {
  override readonly name = 'RangeChangedError';
}

/** Tries of a compare-and-swap; each failure means that another server succeeded. */
const attempts = 64;

export class RangeRegistry {
  readonly #options: RangeRegistryOptions;
  #last: Loaded | undefined;
  /** Changes of this process wait for each other: they would only make each other's swap fail. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: RangeRegistryOptions) {
    this.#options = options;
  }

  /** Takes that number; false when somebody has it. */
  async take(offset: number): Promise<boolean> {
    const taken = await this.#change((bitmap) => ({ result: !bitmap.has(offset), changed: bitmap.take(offset) }));
    this.#told(taken);
    return taken;
  }

  /** Takes any free number. Throws RangeFullError. */
  async takeNext(): Promise<number> {
    const { random, reserved, range } = this.#options;
    const taken = await this.#change((bitmap) => {
      const offset = bitmap.next(random, reserved);
      return { result: offset, changed: offset !== undefined && bitmap.take(offset) };
    });
    this.#told(taken !== undefined);
    if (taken === undefined) throw new RangeFullError(`range ${range} is full`);
    return taken;
  }

  free(offsets: readonly number[]): Promise<void> {
    return this.#change((bitmap) => {
      const taken = offsets.filter((offset) => bitmap.has(offset));
      for (const offset of taken) bitmap.free(offset);
      return { result: undefined, changed: taken.length > 0 };
    });
  }

  #told(taken: boolean): void {
    const { metrics } = this.#options;
    if (taken) metrics?.took();
    else metrics?.failed();
  }

  /** What is taken now, as the store has it. */
  async snapshot(): Promise<Bitmap> {
    const loaded = await this.#load();
    this.#count(loaded.bitmap);
    return new Bitmap(this.#options.size, loaded.bitmap.toBuffer());
  }

  /** One change at a time; `step` may be called again when another server was quicker. */
  #change<R>(step: (bitmap: Bitmap) => { readonly result: R; readonly changed: boolean }): Promise<R> {
    const done = this.#queue.then(() => this.#swap(step));
    this.#queue = done.catch(() => undefined);
    return done;
  }

  async #swap<R>(step: (bitmap: Bitmap) => { readonly result: R; readonly changed: boolean }): Promise<R> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const loaded = this.#last ?? (await this.#load());
      const bitmap = new Bitmap(this.#options.size, loaded.bitmap.toBuffer());
      const { result, changed } = step(bitmap);
      if (!changed) {
        // What is remembered may be old: only a fresh read can say no.
        if (this.#last === undefined) return result;
        this.#last = undefined;
        continue;
      }
      if (await this.#write(bitmap, loaded.revision)) return result;
      this.#last = undefined;
    }
    throw new RangeChangedError(`range ${this.#options.range} is changed by others all the time`);
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
    // After a change of the configured range the repair loop fills the map from the Services.
    const bytes = document.range === range ? Buffer.from(document.data, 'base64') : undefined;
    return { bitmap: new Bitmap(size, bytes), revision: kv.modRevision };
  }
}

/** Size of the part of a range that is handed out last: a 16th, at least 16 and at most 256 (none of tiny ranges). */
export function reservedPart(size: number): number {
  const part = Math.min(Math.max(16, Math.floor(size / 16)), 256);
  return part >= size ? 0 : part;
}

/** Which numbers of a range are taken: one bit each, least significant bit first. */
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

  /** False when it was taken already. */
  take(offset: number): boolean {
    if (this.has(offset)) return false;
    this.#bytes.writeUInt8((this.#bytes[offset >> 3] ?? 0) | (1 << (offset & 7)), offset >> 3);
    return true;
  }

  free(offset: number): void {
    this.#bytes.writeUInt8((this.#bytes[offset >> 3] ?? 0) & ~(1 << (offset & 7)), offset >> 3);
  }

  /**
   * A free number, looked for from a random place on. The lower part of the range is used last, so that numbers asked
   * for by hand, which people choose low, are likely to be free. Undefined when all are taken.
   */
  next(random: () => number, reserved: number): number | undefined {
    return this.#search(reserved, this.size, random) ?? this.#search(0, Math.min(reserved, this.size), random);
  }

  /** How many are taken. */
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
