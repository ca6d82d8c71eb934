/** The hash of Fowler, Noll and Vo. */

/** 32-bit FNV-1a, as Go's `hash/fnv`. Pure. */
export function fnv1a(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
