/** Ranges that a user gives to a new cluster and that this machine has in use already. */

import { parseCIDR } from '#apimachinery/net/ip.js';
import { freeRange, type HostNetwork, nodeRange, overlaps, primaryRange } from '#cmd/orch/network.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { rangeErrors } from '#controllers/nodeipam/ranges.js';

/** What the cluster's controller manager is not told, it takes as this. */
const nodeRangeSizes = {
  'cidr-allocator-type': 'RangeAllocator',
  'node-cidr-mask-size': 0,
  'node-cidr-mask-size-ipv4': 24,
  'node-cidr-mask-size-ipv6': 64,
};

/**
 * Throws a SetupError for the first option whose range is none, or overlaps a network of this machine: the packets of one
 * of them would go to the other.
 * @param given Name of the option and its value.
 */
export function refuseCollisions(given: ReadonlyMap<string, string>, networks: readonly HostNetwork[]): void {
  for (const [option, range] of given) {
    const taken = takenBy(option, range, networks);
    if (taken === undefined) continue;
    const { link, address, bits } = taken;
    const free = freeRange(range, networks);
    const advice = free === undefined ? 'give a smaller one' : `give one that is free, for example --${option}=${free}`;
    throw new SetupError(
      `--${option} ${range} overlaps the network of interface ${link} of this machine (${address}/${bits}); ${advice}, or remove the interface`,
    );
  }
}

/** Throws a SetupError for what nodes cannot be given ranges of: one of IPv4, with one of IPv6 after a comma or without. */
export function refusePodRange(range: string, nodes: number): void {
  const [problem] = rangeErrors({ ...nodeRangeSizes, 'cluster-cidr': range }, new Set());
  if (problem !== undefined) throw new SetupError(problem);
  try {
    nodeRange(primaryRange(range), nodes - 1);
  } catch (error) {
    if (error instanceof RangeError) throw new SetupError(error.message);
    throw error;
  }
}

/** Throws a SetupError for what is not a range of IPv4, with one of IPv6 after a comma or without. */
export function refuseServiceRange(range: string): void {
  const [first, second, ...more] = range.split(',').map((text) => parseCIDR(text)?.family ?? 0);
  if (first === 4 && (second === undefined || second === 6) && more.length === 0) return;
  throw new SetupError(
    `--service-cluster-ip-range ${JSON.stringify(range)} must be a range of IPv4, after which one of IPv6 may follow with a comma between`,
  );
}

function takenBy(option: string, range: string, networks: readonly HostNetwork[]): HostNetwork | undefined {
  try {
    return networks.find((network) => overlaps(range, network));
  } catch (error) {
    if (error instanceof RangeError) throw new SetupError(`--${option}: ${error.message}`);
    throw error;
  }
}
