/** Buffers of a few sizes that are used again, so that the system need not be asked for memory, and given it back, each time. */

export interface PooledSize {
  readonly bytes: number;
  /** So many that are given back are kept. */
  readonly maxSpare: number;
}

export class BufferPool {
  readonly #sizes: readonly (PooledSize & { readonly spare: Buffer[] })[];

  /** Smaller sizes come first. */
  constructor(sizes: readonly PooledSize[]) {
    this.#sizes = sizes.map((size) => ({ ...size, spare: [] }));
  }

  /** A buffer of the smallest size that has room for so many bytes; its contents are anything. Throws a RangeError for more. */
  take(length: number): Buffer {
    const size = this.#sizes.find(({ bytes }) => length <= bytes);
    if (size === undefined) throw new RangeError(`no buffer has room for ${length} bytes`);
    return size.spare.pop() ?? Buffer.allocUnsafeSlow(size.bytes);
  }

  /** Nobody reads or writes one that was taken any more. */
  give(buffer: Buffer): void {
    const size = this.#sizes.find(({ bytes }) => buffer.length === bytes);
    if (size !== undefined && size.spare.length < size.maxSpare) size.spare.push(buffer);
  }
}
