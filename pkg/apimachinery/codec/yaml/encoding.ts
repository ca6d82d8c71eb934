/** Decodes the bytes of YAML text like go-yaml 2.4: UTF-16 with a byte order mark, or else strictly valid UTF-8. */
import { isUtf8 } from 'node:buffer';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';

/** Throws a DecodeError with go-yaml's message for invalid bytes. */
export function yamlText(octets: Buffer): string {
  if (octets[0] === 0xff && octets[1] === 0xfe) return octets.toString('utf16le', 2);
  if (octets[0] === 0xfe && octets[1] === 0xff) {
    const even = octets.subarray(2, octets.length - (octets.length % 2));
    return Buffer.from(even).swap16().toString('utf16le');
  }
  if (!isUtf8(octets)) throw new DecodeError(`yaml: ${faultOf(octets)}`);
  return octets.toString('utf8');
}

/** The first encoding error. */
function faultOf(octets: Buffer): string {
  for (let at = 0; at < octets.length; ) {
    const lead = octets[at] ?? 0;
    const width = widthOf(lead);
    if (width === 0) return 'invalid leading UTF-8 octet';
    if (at + width > octets.length) return 'incomplete UTF-8 octet sequence';
    let value = width === 1 ? lead : lead & (0x7f >> width);
    for (let i = 1; i < width; i++) {
      const trailing = octets[at + i] ?? 0;
      if ((trailing & 0xc0) !== 0x80) return 'invalid trailing UTF-8 octet';
      value = value * 64 + (trailing & 0x3f);
    }
    if (value < (smallest[width] ?? 0)) return 'invalid length of a UTF-8 sequence';
    if ((value >= 0xd800 && value <= 0xdfff) || value > 0x10_ffff) return 'invalid Unicode character';
    if ((value < 0x20 && value !== 9 && value !== 10 && value !== 13) || value === 0x7f) {
      return 'control characters are not allowed';
    }
    at += width;
  }
  return 'invalid Unicode character';
}

/** The smallest code point by number of bytes. */
const smallest: readonly number[] = [0, 0, 0x80, 0x800, 0x1_0000];

function widthOf(lead: number): number {
  if (lead < 0x80) return 1;
  if ((lead & 0xe0) === 0xc0) return 2;
  if ((lead & 0xf0) === 0xe0) return 3;
  return (lead & 0xf8) === 0xf0 ? 4 : 0;
}
