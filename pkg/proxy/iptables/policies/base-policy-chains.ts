/**
 * Chains that exist without any policy. They are in the table mangle, which sees pod addresses after services were
 * translated, and which rules of other programs in the table filter cannot bypass. Traffic sent and received by pods is
 * matched; traffic from the node itself to its pods is not.
 */
import { type BaseChains, type Hook, type List, policyChainNames } from '#proxy/iptables/chain.js';
import { type Direction, directions } from '#proxy/policies/model.js';
import type { Family } from '#proxy/services/proxy-settings.js';

const table = 'mangle';

/** Neighbour and router discovery. */
const discoveryTypes = [133, 134, 135, 136];

export function policyBaseChains(family: Family, prefix: string): BaseChains {
  const hook = (from: Hook['from'], direction: Direction): Hook => ({
    ...{ table, from, to: directionChain(prefix, direction) },
  });
  // Allowed packets continue with other rules of this table.
  const before = [
    '-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN',
    ...(family === 'IPv6' ? discoveryTypes : []).map((type) => `-p ipv6-icmp -m icmp6 --icmpv6-type ${type} -j RETURN`),
  ];
  return {
    prefix,
    hooks: [hook('FORWARD', 'ingress'), hook('FORWARD', 'egress'), hook('INPUT', 'egress')],
    chains: [],
    lists: directions.map((direction): List => {
      return { table, name: directionChain(prefix, direction), before, after: [] };
    }),
  };
}

export function directionChain(prefix: string, direction: Direction): string {
  return `${prefix}-${policyChainNames[direction]}`;
}
