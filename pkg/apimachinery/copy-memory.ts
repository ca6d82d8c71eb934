/** Up to here what the runtime does itself is as fast. */
const leastNative = 64;

/**
 * Copies all of `source` to `target` at `at`, where there must be room for it. `TypedArray.prototype.set` goes word by word where
 * threads share memory, so that no word is ever half of one write and half of another, and takes 1.6 µs for 6 kB instead of 0.09.
 * Nobody here writes to bytes that others may read already.
 */
export function copyMemory(source: Uint8Array, target: Buffer, at: number): void {
  if (source.length > leastNative && (isShared(source) || isShared(target)))
    target.fill(source, at, at + source.length);
  else target.set(source, at);
}

function isShared({ buffer }: Uint8Array): boolean {
  return buffer instanceof SharedArrayBuffer;
}
