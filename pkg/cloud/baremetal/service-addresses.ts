/** Reads the load balancer addresses of a service from its object. Pure. */
import type { Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { canonicalAddress, ipFamily } from '#apimachinery/net/ip.js';
import { wantsLoadBalancer } from '#cloud/provider/load-balancing.js';

export interface ServiceAddresses {
  /** Reserved by the service's annotation, at most one address per family. */
  readonly claimed: readonly string[];
  /** The addresses in the service's status. */
  readonly published: readonly string[];
}

export function addressesOfService(dialect: Dialect, service: Service): ServiceAddresses {
  const text = service.metadata.annotations?.[dialect.annotations.loadBalancerAddresses] ?? '';
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  return {
    claimed: wantsLoadBalancer(service) ? onePerFamily(canonical(text.split(',', 8))) : [],
    published: canonical(ingress.map(({ ip }) => ip ?? '')),
  };
}

function canonical(addresses: readonly string[]): string[] {
  return addresses.flatMap((address) => canonicalAddress(address.trim()) ?? []);
}

/** Users can write annotations: ignore all but the first address of each family. */
function onePerFamily(addresses: readonly string[]): string[] {
  return addresses.filter((address, i) => addresses.findIndex((each) => ipFamily(each) === ipFamily(address)) === i);
}
