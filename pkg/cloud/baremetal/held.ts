/** Which addresses a service holds, as its own object says. Pure. */
import type { Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { canonicalAddress, ipFamily } from '#apimachinery/net/ip.js';
import { wantsLoadBalancer } from '#cloud/provider/balanced.js';

export interface Held {
  /** Set aside for it, at most one of each family: what its annotation says. */
  readonly claimed: readonly string[];
  /** Those at which it is reached: what its status says, whoever wrote it. */
  readonly published: readonly string[];
}

export function heldBy(dialect: Dialect, service: Service): Held {
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

/** Users can write annotations: more than an address of each family is nobody's. */
function onePerFamily(addresses: readonly string[]): string[] {
  return addresses.filter((address, i) => addresses.findIndex((each) => ipFamily(each) === ipFamily(address)) === i);
}
