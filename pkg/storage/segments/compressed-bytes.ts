/** Bytes of large objects that are seldom looked at, such as definitions of custom resources: kept compressed. Immutable. */
import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRawSync } from 'node:zlib';
import { begins, type Segmented } from '#storage/segments/segmented.js';

const deflate = promisify(deflateRaw);

/** Of smaller ones there is little to gain; larger ones would hold the event loop for too long when they are read. */
const minBytes = 16 * 1024;
const maxBytes = 2 * 1024 * 1024;
/** What does not shrink to this part stays as it is. */
const worthwhile = 0.5;
const options = { level: constants.Z_BEST_SPEED };

export class CompressedBytes implements Segmented {
  readonly length: number;
  readonly #deflated: Buffer;
  /** In one piece, while somebody reads on. */
  #whole: WeakRef<Buffer> | undefined;

  private constructor(length: number, deflated: Buffer) {
    this.length = length;
    this.#deflated = deflated;
  }

  /** False for what stays as it is in any case. */
  static concerns(length: number): boolean {
    return length >= minBytes && length <= maxBytes;
  }

  /** Compresses them beside this thread. Undefined where it would save little. */
  static async of(bytes: Buffer): Promise<CompressedBytes | undefined> {
    if (!CompressedBytes.concerns(bytes.length)) return undefined;
    const deflated = await deflate(bytes, options);
    if (deflated.length > bytes.length * worthwhile) return undefined;
    // Of its own size: zlib's is a part of something larger.
    const own = Buffer.allocUnsafeSlow(deflated.length);
    own.set(deflated);
    return new CompressedBytes(bytes.length, own);
  }

  begins(prefix: Buffer): boolean {
    return begins(this.whole(), prefix);
  }

  copyTo(target: Buffer, at: number, from = 0): void {
    target.set(this.whole().subarray(from), at);
  }

  /** Not to be changed. */
  whole(): Buffer {
    const known = this.#whole?.deref();
    if (known !== undefined) return known;
    const whole = inflateRawSync(this.#deflated, { maxOutputLength: this.length });
    this.#whole = new WeakRef(whole);
    return whole;
  }
}
