/**
 * The part of the policies' table of nftables that is there without any policy. Traffic that a pod sends is judged first, then what a
 * pod is to take; both see the addresses of pods, since services have been translated before. What the node itself sends
 * its pods passes neither.
 */
import { createHash } from 'node:crypto';
import type { NftChain, NftSet, TableFrame } from '#proxy/nft/table.js';
import type { Direction } from '#proxy/policies/model.js';
import { familyName } from '#proxy/services/chains.js';
import { type Family, families } from '#proxy/services/view.js';

export function policiesFrame(name: string): TableFrame {
  const sets = families.flatMap(familySets);
  const chains: NftChain[] = [
    { name: 'sent', rules: [...always, ...verdicts('egress')] },
    { name: 'taken', rules: [...always, ...verdicts('ingress')] },
    { name: 'sent-forward', hook: 'type filter hook forward priority 10;', rules: ['jump sent'] },
    { name: 'sent-input', hook: 'type filter hook input priority 10;', rules: ['jump sent'] },
    { name: 'taken-forward', hook: 'type filter hook forward priority 11;', rules: ['jump taken'] },
  ];
  const version = createHash('sha256')
    .update(JSON.stringify([sets, chains]))
    .digest('hex')
    .slice(0, 16);
  return { name, sets, chains, version };
}

/** Connections that are there stay; neighbours of IPv6 find each other; pods reach themselves. */
const always: readonly string[] = [
  'ct state established,related accept',
  'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, nd-router-advert } accept',
  ...families.map((family) => {
    const ip = header(family);
    return `${ip} saddr . ${ip} daddr @${familyName('themselves', family)} accept`;
  }),
];

export function header(family: Family): 'ip' | 'ip6' {
  return family === 'IPv4' ? 'ip' : 'ip6';
}

function verdicts(direction: Direction): string[] {
  return families.map((family) => {
    const pod = direction === 'ingress' ? 'daddr' : 'saddr';
    return `${header(family)} ${pod} vmap @${familyName(direction, family)}`;
  });
}

function familySets(family: Family): NftSet[] {
  const address = addressType(family);
  const isolated = (direction: Direction): NftSet => ({
    name: familyName(direction, family),
    kind: 'map',
    declaration: `type ${address} : verdict;`,
  });
  return [
    isolated('ingress'),
    isolated('egress'),
    { name: familyName('themselves', family), kind: 'set', declaration: `type ${address} . ${address};` },
  ];
}

export function addressType(family: Family): 'ipv4_addr' | 'ipv6_addr' {
  return family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
}
