/** Addresses and networks of this machine, and the ranges of a cluster on it. */
import { execFile } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { formatIPv4, parseIPv4Range } from '#apimachinery/net/ipv4-range.js';

/** The machine's IPv4 addresses without loopback. */
export function hostAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter((address) => address.family === 'IPv4' && !address.internal)
    .map((address) => address.address);
}

/** An address of an interface of this machine, and the network that is reached through it. */
export interface HostNetwork {
  /** Name of the interface. */
  readonly link: string;
  readonly address: string;
  /** Prefix length, 0 to 32. */
  readonly bits: number;
}

/** The machine's IPv4 networks, with those of links that are down, such as empty bridges, which node:os omits. */
export async function hostNetworks(): Promise<HostNetwork[]> {
  try {
    return parseHostNetworks((await promisify(execFile)('ip', listAddresses)).stdout);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // Without iproute2 this machine has no bridges of clusters.
    return Object.entries(networkInterfaces()).flatMap(([link, addresses = []]) =>
      addresses
        .filter(({ family }) => family === 'IPv4')
        .map(({ address, cidr }) => ({ link, address, bits: Number(cidr?.split('/')[1] ?? 32) })),
    );
  }
}

/** Arguments of ip(8) whose output `parseHostNetworks` parses. */
export const listAddresses = ['-oneline', '-4', 'address', 'show'] as const;

export function parseHostNetworks(text: string): HostNetwork[] {
  const lines = text.matchAll(/^\d+: ([^\s@]+)\S*\s+inet ([\d.]+)(?: peer [\d.]+)?\/(\d+)/gm);
  return [...lines].map(([, link = '', address = '', bits]) => ({ link, address, bits: Number(bits) }));
}

/** The first usable address of an IPv4 range: `10.96.0.1` of `10.96.0.0/16`. Throws RangeError for a malformed range. */
export function firstServiceAddress(range: string): string {
  return formatIPv4(parseIPv4Range(range).base + 1);
}

/** The IPv4 range of comma separated ranges. */
export function primaryRange(ranges: string): string {
  return ranges.split(',').find((range) => !range.includes(':')) ?? ranges;
}

/** The /24 of the node with that index: `10.244.3.0/24`. Throws RangeError when the range is too small. */
export function nodeRange(range: string, index: number): string {
  const { base, bits } = parseIPv4Range(range);
  if (bits > 24 || index >= 2 ** (24 - bits)) {
    throw new RangeError(`${range} has no room for a /24 for node ${index + 1}; give a larger --cluster-cidr`);
  }
  return `${formatIPv4(base + index * 256)}/24`;
}

/**
 * The preferred range, or the next one of the same size without an address of this machine: two clusters with the same pod
 * addresses on one machine would receive each other's packets.
 */
export function unusedRange(preferred: string, used: readonly string[]): string {
  const { base, bits, size } = parseIPv4Range(preferred);
  for (let candidate = base; candidate < 2 ** 32; candidate += size) {
    const range = `${formatIPv4(candidate)}/${bits}`;
    if (!used.some((address) => isInRange(address, range))) return range;
  }
  return preferred;
}

/** True when a network has addresses of the range. Throws RangeError for a malformed range. */
export function overlaps(range: string, { address, bits }: HostNetwork): boolean {
  const shorter = Math.min(parseIPv4Range(range).bits, bits);
  const [start = ''] = range.split('/');
  return isInRange(address, `${start}/${shorter}`);
}

/** Private addresses (RFC 1918). */
const privateBlocks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];

/** A private range of the same size that overlaps no network of the machine; undefined when there is none. */
export function freeRange(like: string, networks: readonly HostNetwork[]): string | undefined {
  const { bits, size: step } = parseIPv4Range(like);
  for (const { base, size } of privateBlocks.map(parseIPv4Range)) {
    for (let candidate = base; candidate + step <= base + size; candidate += step) {
      const range = `${formatIPv4(candidate)}/${bits}`;
      if (!networks.some((network) => overlaps(range, network))) return range;
    }
  }
  return undefined;
}

/** Throws RangeError for a malformed IPv4 address or range. */
export function isInRange(address: string, range: string): boolean {
  const { base, bits } = parseIPv4Range(range);
  return parseIPv4Range(`${address}/${bits}`).base === base;
}
