/**
 * The chains that are there without any policy, in the table mangle: its chains see the addresses of pods, since services
 * have been translated before, and what others accept in the table filter cannot pass by them. Traffic that a pod sends is
 * compared, and what a pod is to take; what the node itself sends its pods passes neither.
 */
import { type BaseChains, type Hook, type List, policyChainNames } from '#proxy/iptables/chain.js';
import { type Direction, directions } from '#proxy/policies/model.js';
import type { Family } from '#proxy/services/proxy-settings.js';

const table = 'mangle';

/** Solicitations and advertisements by which routers and neighbours find each other. */
const discoveryTypes = [133, 134, 135, 136];

export function policyBaseChains(family: Family, prefix: string): BaseChains {
  const hook = (from: Hook['from'], direction: Direction): Hook => ({
    ...{ table, from, to: directionChain(prefix, direction) },
  });
  // What passes goes on to whatever others have in this table.
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
