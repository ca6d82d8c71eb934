/**
 * The form in which bytes are described that consist of some of their own and of stretches of a template: how many stretches
 * there are, for each the number of own bytes before it (two bytes, the low one first) and its index (one byte), then all
 * own bytes.
 */

import type { Template } from '#storage/segments/template.js';

/** For each stretch. */
export const entryBytes = 3;
/** What is longer cannot be described so. */
export const maxSharedBytes = 64 * 1024 - 1;
/** Up to here a plain loop is faster than a call. */
const loopBytes = 128;

/**
 * Copies what `packed` describes from `start` to `end`, but for the first `skipped` bytes of it, to `target` at `at`, where
 * there must be room for it.
 */
export function copyPacked(
  packed: Uint8Array,
  start: number,
  end: number,
  source: Template,
  target: Buffer,
  at: number,
  skipped: number,
): void {
  const ownStart = start + 1 + (packed[start] as number) * entryBytes;
  let to = at;
  let skip = skipped;
  let ownAt = ownStart;
  for (let entry = start + 1; entry < ownStart; entry += entryBytes) {
    const ownEnd = ownAt + ((packed[entry] as number) | ((packed[entry + 1] as number) << 8));
    const first = Math.min(ownEnd, ownAt + skip);
    skip -= first - ownAt;
    copyPart(packed, first, ownEnd, target, to);
    to += ownEnd - first;
    ownAt = ownEnd;
    const index = packed[entry + 2] as number;
    const stretch = source.stretchAt(index);
    if (skip >= stretch.length) {
      skip -= stretch.length;
      continue;
    }
    const part = skip === 0 ? stretch : source.tail(index, skip);
    skip = 0;
    target.set(part, to);
    to += part.length;
  }
  copyPart(packed, ownAt + skip, end, target, to);
}

export function copyPart(source: Uint8Array, start: number, end: number, target: Buffer, at: number): void {
  if (end - start > loopBytes) target.set(source.subarray(start, end), at);
  else for (let from = start, to = at; from < end; from++, to++) target[to] = source[from] as number;
}
