/**
 * Texts that are looked for in many JSON documents. Node.js looks for the first byte of what it searches, and compares the rest
 * where it finds it: a quotation mark is everywhere, so what begins with one is found five times slower than what begins
 * with a byte that is rare.
 */
export interface Needle {
  readonly before: Buffer;
  /** From the rare byte on. */
  readonly rest: Buffer;
}

/** `rare`: where in the text, which is ASCII, a byte is that is rare in documents. */
export function needleOf(text: string, rare: number): Needle {
  return { before: Buffer.from(text.slice(0, rare), 'latin1'), rest: Buffer.from(text.slice(rare), 'latin1') };
}

/** Where the text begins, at `from` or behind it; -1 when it does not. */
export function indexOfNeedle(bytes: Buffer, { before, rest }: Needle, from = 0): number {
  const { length } = before;
  let at = bytes.indexOf(rest, from + length);
  while (at >= 0 && before.compare(bytes, at - length, at) !== 0) at = bytes.indexOf(rest, at + 1);
  return at < 0 ? -1 : at - length;
}
