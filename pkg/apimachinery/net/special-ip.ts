/**
 * Addresses that do not identify one remote machine. Classified by their bytes, so that the spelling does not matter
 * (`127.0.0.1`, `::ffff:7f00:1`, `0:0::1`).
 */
import { ipBytes } from '#apimachinery/net/ip.js';

export type SpecialRange =
  | 'unspecified'
  | 'loopback'
  | 'linkLocal'
  | 'linkLocalMulticast'
  | 'otherMulticast'
  | 'broadcast';

/** The special range that contains the address; undefined for ordinary and invalid addresses. */
export function specialRange(address: string): SpecialRange | undefined {
  const bytes = ipBytes(address);
  return bytes === undefined ? undefined : rangeOfBytes(bytes);
}

/** Like `specialRange`, for the sixteen bytes of an address (`ipBytes`). */
export function rangeOfBytes(bytes: Uint8Array): SpecialRange | undefined {
  return startsWith(bytes, mappedPrefix) ? rangeOf4(bytes) : rangeOf6(bytes);
}

/**
 * True if a connection to the address reaches a specific other machine (1.24's "global unicast", which includes private
 * networks). IPv4 addresses embedded in IPv6 are judged as IPv4, in every form that a gateway or the kernel may unwrap:
 * mapped, compatible (RFC 4291 2.5.5) and translated (RFC 6052).
 */
export function isProxyable(address: string): boolean {
  const bytes = ipBytes(address);
  if (bytes === undefined) return false;
  if (rangeOf6(bytes) !== undefined) return false;
  if (![mappedPrefix, compatiblePrefix, translatedPrefix].some((prefix) => startsWith(bytes, prefix))) return true;
  // 0.0.0.0/8 is "this network" (RFC 1122 3.2.1.3), not another machine.
  return bytes[12] !== 0 && rangeOf4(bytes) === undefined;
}

/** True for two spellings of the same address. */
export function sameAddress(a: string, b: string): boolean {
  const [left, right] = [ipBytes(a), ipBytes(b)];
  return left !== undefined && right !== undefined && left.every((byte, i) => byte === right[i]);
}

/** Prefixes of 96 bits before an IPv4 address. */
const compatiblePrefix = new Uint8Array(12);
const mappedPrefix = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);
const translatedPrefix = Uint8Array.of(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0);

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  for (let i = 0; i < prefix.length; i++) if (bytes[i] !== prefix[i]) return false;
  return true;
}

/** Looks at the last four bytes. */
function rangeOf4(bytes: Uint8Array): SpecialRange | undefined {
  const [a, b, c, d] = [bytes[12] as number, bytes[13] as number, bytes[14] as number, bytes[15] as number];
  if (a === 127) return 'loopback';
  if (a === 169 && b === 254) return 'linkLocal';
  if (a === 224 && b === 0 && c === 0) return 'linkLocalMulticast';
  if (a >= 224 && a < 240) return 'otherMulticast';
  if ((a | b | c | d) === 0) return 'unspecified';
  return (a & b & c & d) === 255 ? 'broadcast' : undefined;
}

function rangeOf6(bytes: Uint8Array): SpecialRange | undefined {
  const [a, b] = [bytes[0] as number, bytes[1] as number];
  if (a === 0xff) return (b & 0x0f) === 2 ? 'linkLocalMulticast' : 'otherMulticast';
  if (a === 0xfe && (b & 0xc0) === 0x80) return 'linkLocal';
  for (let i = 0; i < 15; i++) if (bytes[i] !== 0) return undefined;
  return bytes[15] === 0 ? 'unspecified' : bytes[15] === 1 ? 'loopback' : undefined;
}
