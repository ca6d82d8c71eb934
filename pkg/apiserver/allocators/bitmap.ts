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
