/** Network policy rules as a table of nftables. */

import { createHash } from 'node:crypto';
import type { TableListing } from '#proxy/nft/listing.js';
import type { BaseTable, Contribution, NftChain, NftElement, NftSet } from '#proxy/nft/table.js';
import { TableState } from '#proxy/nft/table-state.js';
import {
  type Allowance,
  type Direction,
  directions,
  type Membership,
  type Peer,
  type PodPlan,
  type PolicyTable,
  type PortRange,
} from '#proxy/policies/model.js';
import type { Selection } from '#proxy/policies/selection.js';
import { disjointBlocks, rangeText } from '#proxy/services/addresses.js';
import { familyName } from '#proxy/services/chains.js';
import { type Family, families } from '#proxy/services/proxy-settings.js';

/** Owner of the sets; pods' keys contain a slash. */
const setsOwner = 'sets';

export class NftPolicies implements PolicyTable<TableListing, string> {
  readonly state: TableState;

  constructor(table: string) {
    this.state = new TableState(policiesBaseTable(table));
  }

  select(selections: readonly Selection[]): void {
    const sets = selections.flatMap((selection) => families.map((family) => selectionSet(selection, family)));
    this.state.contribute(setsOwner, { elements: [], chains: [], sets });
  }

  contribute(pod: string, plan: PodPlan | undefined): void {
    this.state.contribute(pod, plan && podTable(plan));
  }
}

/** A pod's contribution to the table. Pure. */
export function podTable({ addresses, isolated, memberships }: PodPlan): Contribution {
  const elements = memberships.map(memberElement);
  const chains = new Map<string, NftChain>();
  for (const direction of directions) {
    const policies = isolated[direction];
    if (policies === undefined) continue;
    const [first, ...others] = isolation(direction, policies);
    for (const chain of [first, ...others]) chains.set(chain.name, chain);
    for (const { address, family } of addresses)
      elements.push({ set: familyName(direction, family), key: address, data: `goto ${first.name}` });
  }
  if (chains.size > 0) {
    for (const { address, family } of addresses)
      elements.push({ set: familyName('themselves', family), key: `${address} . ${address}`, data: '' });
  }
  return { elements, chains: [...chains.values()] };
}

/** The pod's chain and its policies' chains; pods with equal policies share them. */
function isolation(direction: Direction, policies: readonly (readonly Allowance[])[]): [NftChain, ...NftChain[]] {
  const ruled = policies.map((allowed) => allowed.flatMap((each) => allowanceRules(each, direction)));
  const chains = ruled
    .filter((rules) => rules.length > 0)
    .map((rules): NftChain => ({ name: `${direction}-policy-${digest(rules)}`, rules }));
  const names = [...new Set(chains.map(({ name }) => name))].sort();
  const rules = [...names.map((name) => `jump ${name}`), 'drop'];
  return [{ name: `${direction}-pod-${digest(rules)}`, rules }, ...chains];
}

function digest(rules: readonly string[]): string {
  return createHash('sha256').update(rules.join('\n')).digest('hex').slice(0, 16);
}

function allowanceRules({ peer, ports }: Allowance, direction: Direction): string[] {
  const side = direction === 'ingress' ? 'saddr' : 'daddr';
  const port = ports === undefined ? [] : [portMatch(ports)];
  return peerMatches(peer, side).map((match) => [...match, ...port, 'accept'].join(' '));
}

function peerMatches(peer: Peer | undefined, side: 'saddr' | 'daddr'): string[][] {
  if (peer === undefined) return [[]];
  if ('selection' in peer) {
    const { selection } = peer;
    const key = selection.port === undefined ? side : `${side} . meta l4proto . th dport`;
    return families.map((family) => [`${header(family)} ${key} @${selectionSet(selection, family).name}`]);
  }
  const { block, except } = peer;
  const at = `${block.family === 4 ? 'ip' : 'ip6'} ${side}`;
  const [first, ...others] = disjointBlocks(except).map(rangeText);
  // Even a block of all addresses has one family.
  const within = `${at} ${rangeText(block)}`;
  if (first === undefined) return [[within]];
  // One comparison for all exceptions: a rule can have only a few.
  return [[within, `${at} != ${others.length === 0 ? first : `{ ${[first, ...others].join(', ')} }`}`]];
}

function portMatch({ numbers, transport }: PortRange): string {
  if (numbers === undefined) return `meta l4proto ${transport}`;
  const { first, last } = numbers;
  return `${transport} dport ${first === last ? first : `${first}-${last}`}`;
}

function selectionSet({ id, port }: Selection, family: Family): NftSet {
  const address = addressType(family);
  return {
    name: `${familyName(port === undefined ? 'pods' : 'ports', family)}-${id}`,
    kind: 'set',
    declaration: port === undefined ? `type ${address};` : `type ${address} . inet_proto . inet_service;`,
  };
}

function memberElement({ address, family, port, selection }: Membership): NftElement {
  const key = port === undefined ? address : `${address} . ${port.transport} . ${port.number}`;
  return { set: selectionSet(selection, family).name, key, data: '' };
}

/**
 * Content of the policies' table without any policy. Traffic sent by pods is checked first, then traffic received; both
 * after services were translated to pod addresses. Traffic from the node itself to its pods is not checked.
 */
function policiesBaseTable(name: string): BaseTable {
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

/** Established connections, IPv6 neighbour discovery, and pods that reach themselves. */
const always: readonly string[] = [
  'ct state established,related accept',
  'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, nd-router-advert } accept',
  ...families.map((family) => {
    const ip = header(family);
    return `${ip} saddr . ${ip} daddr @${familyName('themselves', family)} accept`;
  }),
];

function header(family: Family): 'ip' | 'ip6' {
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

function addressType(family: Family): 'ipv4_addr' | 'ipv6_addr' {
  return family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
}
