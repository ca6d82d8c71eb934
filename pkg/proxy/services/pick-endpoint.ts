/** Chooses an endpoint for a connection to a service without a kernel, for clusters in tests. Pure. */
import type { Service } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { canonicalAddress, ipFamily } from '#apimachinery/net/ip.js';
import { endpointsOf, reachable } from '#proxy/services/endpoints.js';

export interface Destination {
  readonly address: string;
  readonly port: number;
}

export interface PickOptions {
  readonly slices: readonly EndpointSlice[];
  /** Returns [0, 1). */
  readonly random: () => number;
}

/** The service with this address, as seen in the cluster. */
export function serviceAt(services: readonly Service[], address: string): Service | undefined {
  const canonical = canonicalAddress(address);
  return services.find(({ spec, status }) => {
    const balancer = status?.loadBalancer?.ingress?.flatMap(({ ip }) => ip ?? []) ?? [];
    const addresses = [...(spec?.clusterIPs ?? [spec?.clusterIP ?? '']), ...(spec?.externalIPs ?? []), ...balancer];
    return addresses.some((each) => canonicalAddress(each) === canonical);
  });
}

/** An endpoint of the service's TCP port; undefined if there is none. */
export function pickEndpoint(
  service: Service,
  to: Destination,
  { random, slices }: PickOptions,
): Destination | undefined {
  const port = service.spec?.ports?.find((each) => each.port === to.port && (each.protocol ?? 'TCP') === 'TCP');
  if (port === undefined) return undefined;
  const node = { names: new Set<string>(), zone: undefined };
  const query = {
    portName: port.name ?? '',
    protocol: 'TCP',
    family: ipFamily(to.address) === 6 ? 'IPv6' : 'IPv4',
  } as const;
  const { cluster } = reachable(
    endpointsOf(slices, query, node),
    { isInternalLocal: false, isExternalLocal: false, isExternal: false, hints: '' },
    { gates: { topologyAwareHints: false, proxyTerminatingEndpoints: false }, node },
  );
  return cluster[Math.floor(random() * cluster.length)];
}
