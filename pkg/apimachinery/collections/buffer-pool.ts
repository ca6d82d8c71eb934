/** Reusable buffers of a few sizes, which avoid allocating and freeing memory for each use. */

export interface PooledSize {
  readonly bytes: number;
  /** Maximum number of unused buffers to keep. */
  readonly maxSpare: number;
}

export class BufferPool {
  readonly #sizes: readonly (PooledSize & { readonly spare: Buffer[] })[];

  /** In ascending order of size. */
  constructor(sizes: readonly PooledSize[]) {
    this.#sizes = sizes.map((size) => ({ ...size, spare: [] }));
  }

  /** A buffer of the smallest size that fits, with arbitrary contents. Throws a RangeError if none fits. */
  take(length: number): Buffer {
    const size = this.#sizes.find(({ bytes }) => length <= bytes);
    if (size === undefined) throw new RangeError(`no buffer has room for ${length} bytes`);
    return size.spare.pop() ?? Buffer.allocUnsafeSlow(size.bytes);
  }

  /** Returns a buffer that is no longer used. */
  give(buffer: Buffer): void {
    const size = this.#sizes.find(({ bytes }) => buffer.length === bytes);
    if (size !== undefined && size.spare.length < size.maxSpare) size.spare.push(buffer);
  }
}
