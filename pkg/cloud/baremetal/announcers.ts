/** Chooses the node that announces an address. Every node computes the same choice. Pure. */
import { createHash } from 'node:crypto';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { addressesOfService } from '#cloud/baremetal/service-addresses.js';
import { takesBalancedTraffic, wantsLoadBalancer } from '#cloud/provider/load-balancing.js';

/**
 * Rendezvous hashing: the name with the highest hash of name and address, undefined if there are no names. Addresses
 * spread evenly, and move only when their node leaves or a new node ranks higher.
 */
export function announcerOf(address: string, names: readonly string[]): string | undefined {
  let best: { readonly name: string; readonly rank: string } | undefined;
  for (const name of names) {
    const rank = createHash('sha256').update(`${name} ${address}`).digest('hex');
    if (best === undefined || rank > best.rank || (rank === best.rank && name < best.name)) best = { name, rank };
  }
  return best?.name;
}

export interface AnnouncedCluster {
  readonly nodes: readonly Node[];
  readonly services: readonly Service[];
  /** Names of the nodes with ready endpoints of the service; called only for external traffic policy `Local`. */
  readonly nodesWithEndpoints: (service: Service) => ReadonlySet<string>;
}

/** Whether nodes forward traffic only to their own endpoints, so that nodes without endpoints drop it. */
export function keepsTrafficLocal({ spec }: Service): boolean {
  return spec.externalTrafficPolicy === 'Local';
}

/** The addresses that the node must announce: addresses that this provider allocated and the service publishes. */
export function addressesOf(
  node: string,
  dialect: Dialect,
  { nodes, nodesWithEndpoints, services }: AnnouncedCluster,
): Set<string> {
  const names = nodes.filter((each) => takesBalancedTraffic(dialect, each)).map(({ metadata }) => metadata.name ?? '');
  const addresses = new Set<string>();
  if (!names.includes(node)) return addresses;
  for (const service of services) {
    if (!wantsLoadBalancer(service)) continue;
    const { claimed, published } = addressesOfService(dialect, service);
    const withEndpoints = keepsTrafficLocal(service) ? nodesWithEndpoints(service) : undefined;
    const candidates = withEndpoints === undefined ? names : names.filter((name) => withEndpoints.has(name));
    // An address that is published but not claimed belongs to another provider.
    for (const address of published) {
      if (claimed.includes(address) && announcerOf(address, candidates) === node) addresses.add(address);
    }
  }
  return addresses;
}
