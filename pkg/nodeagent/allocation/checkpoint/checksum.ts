/** The checksum of 1.24's checkpoint files: 32-bit FNV-1a of the text that Go's spew library prints. Pure. */

import { fnv1a } from '#apimachinery/fnv.js';

/** Of the printed structure, whose own checksum is 0. */
export function checksum(printed: string): number {
  return fnv1a(Buffer.from(printed));
}

/** A map as spew prints it, in the order of its keys as Go compares texts. `print`: of a value. */
export function printMap<T>(
  entries: Iterable<readonly [string, T]>,
  print: (value: T) => string,
  compare: (a: string, b: string) => number = compareBytes,
): string {
  const sorted = [...entries].sort(([a], [b]) => compare(a, b));
  return `map[${sorted.map(([key, value]) => `${key}:${print(value)}`).join(' ')}]`;
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
