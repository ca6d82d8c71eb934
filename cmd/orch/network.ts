/** Addresses of a cluster on one machine. */
import { networkInterfaces } from 'node:os';

/** The machine's own IPv4 addresses, loopback not among them. */
export function hostAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter((address) => address.family === 'IPv4' && !address.internal)
    .map((address) => address.address);
}

/** The first usable address of an IPv4 range: `10.96.0.1` of `10.96.0.0/16`. Throws RangeError for what is none. */
export function firstServiceAddress(range: string): string {
  return formatAddress(parseRange(range).base + 1);
}

/** The /24 of the node at that place: `10.244.3.0/24`. Throws RangeError when the range has no room for it. */
export function nodeRange(range: string, index: number): string {
  const { base, bits } = parseRange(range);
  if (bits > 24 || index >= 2 ** (24 - bits)) {
    throw new RangeError(`${range} has no room for a /24 for node ${index + 1}; give a larger --cluster-cidr`);
  }
  return `${formatAddress(base + index * 256)}/24`;
}

/**
 * The range, or else the next one of the same size of which this machine has no address yet: two clusters with the same
 * pod addresses on one machine would take each other's packets.
 */
export function unusedRange(preferred: string, taken: readonly string[]): string {
  const { base, bits } = parseRange(preferred);
  const size = 2 ** (32 - bits);
  for (let candidate = base; candidate < 2 ** 32; candidate += size) {
    const isTaken = taken.some((address) => parseRange(`${address}/${bits}`).base === candidate);
    if (!isTaken) return `${formatAddress(candidate)}/${bits}`;
  }
  return preferred;
}

function parseRange(range: string): { base: number; bits: number } {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(range);
  const numbers = (match ?? []).slice(1).map(Number);
  const [a = 256, b = 256, c = 256, d = 256, bits = 33] = numbers;
  if ([a, b, c, d].some((octet) => octet > 255) || bits > 32) throw new RangeError(`"${range}" is no IPv4 range`);
  const address = ((a * 256 + b) * 256 + c) * 256 + d;
  const size = 2 ** (32 - bits);
  return { base: Math.floor(address / size) * size, bits };
}

function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}
