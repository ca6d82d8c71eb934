/** Which node announces an address: one of those that take traffic, and everybody finds the same. Pure. */
import { createHash } from 'node:crypto';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { heldBy } from '#cloud/baremetal/held.js';
import { takesBalancedTraffic, wantsLoadBalancer } from '#cloud/provider/balanced.js';

/**
 * The one with the highest hash of name and address, undefined where there is none: addresses are spread evenly, and
 * only those of a node that goes, or go to one that comes, ever move.
 */
export function announcerOf(address: string, names: readonly string[]): string | undefined {
  let best: { readonly name: string; readonly rank: string } | undefined;
  for (const name of names) {
    const rank = createHash('sha256').update(`${name} ${address}`).digest('hex');
    if (best === undefined || rank > best.rank || (rank === best.rank && name < best.name)) best = { name, rank };
  }
  return best?.name;
}

/** What is known of the cluster. */
export interface AnnouncedCluster {
  readonly nodes: readonly Node[];
  readonly services: readonly Service[];
  /** Names of the nodes on which the service has ready endpoints; asked of those that keep traffic on its node. */
  readonly nodesWithEndpoints: (service: Service) => ReadonlySet<string>;
}

/** Whether what arrives at a node stays there: others than those with endpoints would drop it. */
export function keepsTrafficLocal({ spec }: Service): boolean {
  return spec.externalTrafficPolicy === 'Local';
}

/** The addresses that the node is to announce: those given out by this provider, and published. */
export function addressesOf(
  node: string,
  dialect: Dialect,
  { nodes, nodesWithEndpoints, services }: AnnouncedCluster,
): Set<string> {
  const names = nodes.filter((each) => takesBalancedTraffic(dialect, each)).map(({ metadata }) => metadata.name ?? '');
  const addresses = new Set<string>();
  // Without this node, or before the others are known, there is nothing to find out.
  if (!names.includes(node)) return addresses;
  for (const service of services) {
    if (!wantsLoadBalancer(service)) continue;
    const { claimed, published } = heldBy(dialect, service);
    const withEndpoints = keepsTrafficLocal(service) ? nodesWithEndpoints(service) : undefined;
    const candidates = withEndpoints === undefined ? names : names.filter((name) => withEndpoints.has(name));
    // Other providers publish addresses, too, which are theirs to announce.
    for (const address of published) {
      if (claimed.includes(address) && announcerOf(address, candidates) === node) addresses.add(address);
    }
  }
  return addresses;
}
