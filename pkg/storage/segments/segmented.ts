/** Bytes that need not lie in one piece, so that what many objects have in common is in memory once. */
import { copyMemory } from '#apimachinery/copy-memory.js';

export interface Segmented {
  readonly length: number;
  /** Copies what comes behind the first `from` bytes to `target` at `at`, where there must be room for it. */
  copyTo(target: Buffer, at: number, from?: number): void;
  begins(prefix: Buffer): boolean;
}

export type Bytes = Buffer | Segmented;

export function isWhole(bytes: Bytes): bytes is Buffer {
  return bytes instanceof Uint8Array;
}

/** In one piece: copied where they are in several. */
export function joined(bytes: Bytes): Buffer {
  if (isWhole(bytes)) return bytes;
  const whole = Buffer.allocUnsafe(bytes.length);
  bytes.copyTo(whole, 0);
  return whole;
}

/** Copies all of them to `target` at `at`. */
export function copyBytes(bytes: Bytes, target: Buffer, at: number): void {
  if (isWhole(bytes)) copyMemory(bytes, target, at);
  else bytes.copyTo(target, at);
}

export function begins(bytes: Bytes, prefix: Buffer): boolean {
  if (bytes.length < prefix.length) return false;
  return isWhole(bytes) ? prefix.compare(bytes, 0, prefix.length) === 0 : bytes.begins(prefix);
}

/** What comes behind the first `from` bytes, which is not copied. */
export function behind(bytes: Bytes, from: number): Bytes {
  return isWhole(bytes) ? bytes.subarray(from) : new Behind(bytes, from);
}

class Behind implements Segmented {
  readonly length: number;
  readonly #bytes: Segmented;
  readonly #from: number;

  constructor(bytes: Segmented, from: number) {
    this.length = bytes.length - from;
    this.#bytes = bytes;
    this.#from = from;
  }

  copyTo(target: Buffer, at: number, from = 0): void {
    this.#bytes.copyTo(target, at, this.#from + from);
  }

  begins(prefix: Buffer): boolean {
    return begins(joined(this), prefix);
  }
}
