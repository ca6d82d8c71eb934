/** Bytes that need not lie in one piece, so that what many objects have in common is in memory once. */

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

/** Copies what comes behind the first `from` bytes to `target` at `at`. */
export function copyBytes(bytes: Bytes, target: Buffer, at: number, from = 0): void {
  if (isWhole(bytes)) target.set(from === 0 ? bytes : bytes.subarray(from), at);
  else bytes.copyTo(target, at, from);
}

export function begins(bytes: Bytes, prefix: Buffer): boolean {
  if (bytes.length < prefix.length) return false;
  return isWhole(bytes) ? prefix.compare(bytes, 0, prefix.length) === 0 : bytes.begins(prefix);
}
