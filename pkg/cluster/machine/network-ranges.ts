/** Validates the address ranges of a new cluster. */

import { parseCIDR } from '#apimachinery/net/ip.js';
import { freeRange, type HostNetwork, nodeRange, overlaps, primaryRange } from '#cluster/machine/network.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { rangeErrors } from '#controllers/nodeipam/ranges.js';

/** Defaults of the cluster's controller manager. */
const nodeRangeSizes = {
  'cidr-allocator-type': 'RangeAllocator',
  'node-cidr-mask-size': 0,
  'node-cidr-mask-size-ipv4': 24,
  'node-cidr-mask-size-ipv6': 64,
};

/**
 * Throws a SetupError for the first option with a malformed range, or with one that overlaps a network of this machine:
 * packets would go to the wrong one.
 * @param options Values by option name.
 */
export function refuseCollisions(options: ReadonlyMap<string, string>, networks: readonly HostNetwork[]): void {
  for (const [option, range] of options) {
    const overlap = overlapOf(option, range, networks);
    if (overlap === undefined) continue;
    const { link, address, bits } = overlap;
    const free = freeRange(range, networks);
    const advice = free === undefined ? 'give a smaller one' : `give a free one, for example --${option}=${free}`;
    throw new SetupError(
      `--${option} ${range} overlaps the network of interface ${link} of this machine (${address}/${bits}); ${advice}, or remove the interface`,
    );
  }
}

/** Throws a SetupError unless the range is IPv4, optionally with an IPv6 range after a comma, and has room for the nodes. */
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

/** Throws a SetupError unless the range is IPv4, optionally with an IPv6 range after a comma. */
export function refuseServiceRange(range: string): void {
  const [first, second, ...more] = range.split(',').map((text) => parseCIDR(text)?.family ?? 0);
  if (first === 4 && (second === undefined || second === 6) && more.length === 0) return;
  throw new SetupError(
    `--service-cluster-ip-range ${JSON.stringify(range)} must be an IPv4 range, optionally with an IPv6 range after a comma`,
  );
}

function overlapOf(option: string, range: string, networks: readonly HostNetwork[]): HostNetwork | undefined {
  try {
    return networks.find((network) => overlaps(range, network));
  } catch (error) {
    if (error instanceof RangeError) throw new SetupError(`--${option}: ${error.message}`);
    throw error;
  }
}
