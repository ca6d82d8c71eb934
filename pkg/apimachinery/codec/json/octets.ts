/** The octets of a JSON text as Go's decoder takes them: each that is no part of a character stands for U+FFFD. */
import { isUtf8 } from 'node:buffer';

const replacement = Buffer.from('\ufffd');

/** The same octets where they are UTF-8; otherwise a copy that is. Node.js would replace several octets by one character. */
export function withReplacements(octets: Buffer): Buffer {
  if (isUtf8(octets)) return octets;
  const parts: Buffer[] = [];
  let good = 0;
  for (let at = 0; at < octets.length; ) {
    const width = characterAt(octets, at);
    if (width === 0) {
      parts.push(octets.subarray(good, at), replacement);
      good = at + 1;
    }
    at += Math.max(width, 1);
  }
  return Buffer.concat([...parts, octets.subarray(good)]);
}

/** How many octets the character there takes; 0 for none. */
function characterAt(octets: Buffer, at: number): number {
  const lead = octets[at] ?? 0;
  if (lead < 0x80) return 1;
  const width = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return at + width <= octets.length && isUtf8(octets.subarray(at, at + width)) ? width : 0;
}
