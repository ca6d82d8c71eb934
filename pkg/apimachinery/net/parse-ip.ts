/**
 * Parses IP addresses in API objects and flags like release 1.24, which keeps a copy of an older parser of Go's
 * library: IPv4 parts are decimal and may have leading zeros (`010.001.0.1` is 10.1.0.1), because existing clusters
 * contain such addresses. `strictFamily`: Go's current parser, which rejects leading zeros.
 *  Not ipaddr.js: it reads leading zeros as octal and accepts hexadecimal and short IPv4 forms and zones, and loading
 *  it takes 3 ms.
 */
import { isIPv4, isIPv6 } from 'node:net';

export interface ParsedAddress {
  readonly family: 4 | 6;
  /** Sixteen bytes; IPv4 uses the last four, after the mapping prefix. */
  readonly bytes: Uint8Array;
}

/** Undefined if invalid, or with a zone (`fe80::1%eth0`). Like 1.24, `::ffff:10.0.0.1` has the family IPv4. */
export function parseAddress(value: string): ParsedAddress | undefined {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code === dot) return parse4(value);
    if (code === colon) {
      const bytes = parse6(value);
      return bytes && { family: isMapped(bytes) ? 4 : 6, bytes };
    }
  }
  return undefined;
}

/** 4, 6, or 0 for invalid addresses, zones, and IPv4 with leading zeros: for connections, URLs and formats. */
export function strictFamily(value: string): 0 | 4 | 6 {
  if (isIPv4(value)) return 4;
  return !value.includes('%') && isIPv6(value) ? 6 : 0;
}

const dot = '.'.charCodeAt(0);
const colon = ':'.charCodeAt(0);
const zero = '0'.charCodeAt(0);
/** Parsing a number stops here, far above any valid value. */
const tooLarge = 0xff_ff_ff;

function parse4(value: string): ParsedAddress | undefined {
  const bytes = new Uint8Array(16);
  bytes[10] = 0xff;
  bytes[11] = 0xff;
  return read4(value, 0, { bytes, start: 12 }) ? { family: 4, bytes } : undefined;
}

/** Parses an IPv4 address from `at` to the end of the text into four bytes. */
function read4(value: string, at: number, { bytes, start }: { bytes: Uint8Array; start: number }): boolean {
  let next = at;
  for (let part = 0; part < 4; part++) {
    if (part > 0 && value.charCodeAt(next++) !== dot) return false;
    const first = next;
    let number = 0;
    for (let digit = value.charCodeAt(next) - zero; digit >= 0 && digit <= 9; digit = value.charCodeAt(next) - zero) {
      number = number * 10 + digit;
      if (number >= tooLarge) return false;
      next++;
    }
    if (next === first || number > 0xff) return false;
    bytes[start + part] = number;
  }
  return next === value.length;
}

function hexDigit(code: number): number {
  const digit = code - zero;
  if (digit >= 0 && digit <= 9) return digit;
  // The bit that distinguishes upper and lower case.
  const letter = (code | 0x20) - 'a'.charCodeAt(0);
  return letter >= 0 && letter <= 5 ? letter + 10 : -1;
}

function isMapped(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return bytes[10] === 0xff && bytes[11] === 0xff;
}

function parse6(value: string): Uint8Array | undefined {
  const bytes = new Uint8Array(16);
  let ellipsis = -1;
  let next = 0;
  if (value.startsWith('::')) {
    ellipsis = 0;
    next = 2;
    if (value.length === 2) return bytes;
  }
  let size = 0;
  while (size < 16) {
    const first = next;
    let group = 0;
    for (let digit = hexDigit(value.charCodeAt(next)); digit >= 0; digit = hexDigit(value.charCodeAt(next))) {
      group = group * 16 + digit;
      if (group >= tooLarge) return undefined;
      next++;
    }
    if (next === first || group > 0xffff) return undefined;
    if (value.charCodeAt(next) === dot) {
      if ((ellipsis < 0 && size !== 12) || size > 12) return undefined;
      if (!read4(value, first, { bytes, start: size })) return undefined;
      next = value.length;
      size += 4;
      break;
    }
    bytes[size] = group >> 8;
    bytes[size + 1] = group & 0xff;
    size += 2;
    if (next === value.length) break;
    if (value.charCodeAt(next) !== colon || next + 1 === value.length) return undefined;
    next++;
    if (value.charCodeAt(next) !== colon) continue;
    if (ellipsis >= 0) return undefined;
    ellipsis = size;
    next++;
    if (next === value.length) break;
  }
  if (next !== value.length) return undefined;
  // `::` stands for at least one group.
  if (size < 16 !== ellipsis >= 0) return undefined;
  if (size < 16) {
    bytes.copyWithin(ellipsis + 16 - size, ellipsis, size);
    bytes.fill(0, ellipsis, ellipsis + 16 - size);
  }
  return bytes;
}
