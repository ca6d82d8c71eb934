/** The policies of a pod as chains of one family. Pure. */
import { addressToNumber, formatAddress, type IPBlock, numberToAddress } from '#apimachinery/net/ip.js';
import type { Member, MemberSet } from '#proxy/ipset/set-state.js';
import { addressBucket, type Chain, type Contribution, type Entry, shortHash } from '#proxy/iptables/chain.js';
import { directionChain } from '#proxy/iptables/policies/base-policy-chains.js';
import {
  type Allowance,
  type Direction,
  directions,
  type Membership,
  type Peer,
  type PodPlan,
  type PortRange,
} from '#proxy/policies/model.js';
import type { Selection } from '#proxy/policies/selection.js';
import { rangeText } from '#proxy/services/addresses.js';
import type { Family } from '#proxy/services/proxy-settings.js';

export interface PolicyChainContext {
  readonly family: Family;
  readonly prefix: string;
  /** Members of a set, for kernels without sets: they become rules. */
  readonly members: ((set: string) => readonly string[]) | undefined;
}

/** First letters of chain names, by kind. */
const kinds = { bucket: 'B', ingress: 'I', egress: 'E' } as const;
/** A node has few pods with adjacent addresses: two lookups of up to sixteen find one. */
const bucketBits: Readonly<Record<Family, number>> = { IPv4: 28, IPv6: 124 };

/** An isolated pod's contribution: its addresses lead to a chain that pods with equal policies share. */
export function podChains({ addresses, isolated }: PodPlan, context: PolicyChainContext): Contribution {
  const { family, prefix } = context;
  const chains: Chain[] = [];
  const entries: Entry[] = [];
  for (const direction of directions) {
    const policies = isolated[direction];
    if (policies === undefined) continue;
    const chain = policyChain(direction, policies, context);
    chains.push(chain);
    const [own, other] = direction === 'egress' ? (['-s', '-d'] as const) : (['-d', '-s'] as const);
    const list = directionChain(prefix, direction);
    for (const { address, family: of } of addresses) {
      if (of !== family) continue;
      const block = addressBucket(address, bucketBits[family]);
      const bucket = `${prefix}-${kinds.bucket}${shortHash(`${list} ${block}`)}`;
      const entry = (rule: string): Entry => ({ list, bucket, match: `${own} ${block}`, rule });
      // Pods can always reach themselves.
      entries.push(entry(`${own} ${address} ${other} ${address} -j RETURN`));
      entries.push(entry(`${own} ${address} -g ${chain.name}`));
    }
  }
  return { chains: entries.length === 0 ? [] : chains, entries };
}

/** Named by its allowances, whichever pods are selected. */
function policyChain(
  direction: Direction,
  policies: readonly (readonly Allowance[])[],
  { family, members, prefix }: PolicyChainContext,
): Chain {
  const rulesBy = (matches: (selection: Selection) => string[]) => {
    const rules = policies.flat().flatMap((allowance) => {
      return allowanceRules(allowance, { direction, family, matches });
    });
    return [...[...new Set(rules)].sort(), '-j DROP'];
  };
  const ofSet = (selection: Selection) => [setMatch(selection, { direction, family, prefix })];
  const named = rulesBy(ofSet);
  return {
    table: 'mangle',
    name: `${prefix}-${kinds[direction]}${shortHash(named.join('\n'))}`,
    rules:
      members === undefined
        ? named
        : rulesBy((selection) => members(setName(prefix, family, selection)).map((key) => memberMatch(key, direction))),
  };
}

interface Rendering {
  readonly direction: Direction;
  readonly family: Family;
  readonly matches: (selection: Selection) => string[];
}

function allowanceRules({ peer, ports }: Allowance, rendering: Rendering): string[] {
  const port = ports === undefined ? [] : [portMatch(ports)];
  return peerMatches(peer, rendering).map((match) => [...match, ...port, '-j RETURN'].join(' '));
}

function peerMatches(peer: Peer | undefined, { direction, family, matches }: Rendering): string[][] {
  if (peer === undefined) return [[]];
  if ('selection' in peer) return matches(peer.selection).map((match) => [match]);
  const { block, except } = peer;
  if (block.family !== (family === 'IPv4' ? 4 : 6)) return [];
  if (except.length === 0) return [[`${direction === 'ingress' ? '-s' : '-d'} ${rangeText(block)}`]];
  // A rule can negate only one range, so list the ranges between exceptions.
  const side = direction === 'ingress' ? '--src-range' : '--dst-range';
  return rangesWithout(block, except).map(({ first, last }) => [`-m iprange ${side} ${first}-${last}`]);
}

function portMatch({ numbers, transport }: PortRange): string {
  if (numbers === undefined) return `-p ${transport}`;
  const { first, last } = numbers;
  return `-p ${transport} -m ${transport} --dport ${first === last ? first : `${first}:${last}`}`;
}

function setMatch(
  selection: Selection,
  { direction, family, prefix }: { readonly direction: Direction; readonly family: Family; readonly prefix: string },
): string {
  const side = direction === 'ingress' ? 'src' : 'dst';
  const sides = selection.port === undefined ? side : `${side},${side}`;
  return `-m set --match-set ${setName(prefix, family, selection)} ${sides}`;
}

/** The match of a set's member. */
function memberMatch(key: string, direction: Direction): string {
  const [address, port] = key.split(',');
  const at = `${direction === 'ingress' ? '-s' : '-d'} ${address}`;
  if (port === undefined) return at;
  const [transport = '', number] = port.split(':');
  return `${at} -p ${transport} -m ${transport} --dport ${number}`;
}

/** Name of a selection's set for a family; the kernel allows 31 characters. */
export function setName(prefix: string, family: Family, { id, port }: Selection): string {
  return `${prefix}-${port === undefined ? 'p' : 'n'}${family === 'IPv4' ? 4 : 6}-${id}`;
}

export function ownSets(prefix: string): (name: string) => boolean {
  return (name) => name.startsWith(`${prefix}-`) && /^[pn][46]-[0-9a-f]{12}$/.test(name.slice(prefix.length + 1));
}

export function selectionSet(prefix: string, family: Family, selection: Selection): MemberSet {
  return {
    name: setName(prefix, family, selection),
    family,
    type: selection.port === undefined ? 'hash:ip' : 'hash:ip,port',
  };
}

export function memberOf(prefix: string, { address, family, port, selection }: Membership): Member {
  const key = port === undefined ? address : `${address},${port.transport}:${port.number}`;
  return { set: setName(prefix, family, selection), key };
}

/** Selections in a pod's policies. */
export function selectionsOf({ isolated }: PodPlan): Selection[] {
  return directions.flatMap((direction) =>
    (isolated[direction] ?? []).flat().flatMap(({ peer }) => {
      return peer !== undefined && 'selection' in peer ? [peer.selection] : [];
    }),
  );
}

/** An inclusive range. */
export interface AddressRange {
  readonly first: string;
  readonly last: string;
}

/** The ranges of a block without the exceptions, sorted; at most one more than exceptions. Pure. */
export function rangesWithout(block: IPBlock, except: readonly IPBlock[]): AddressRange[] {
  const { family } = block;
  const whole = spanOf(block);
  const gaps = except.filter((each) => each.family === family).map(spanOf);
  gaps.sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const ranges: AddressRange[] = [];
  const add = (first: bigint, last: bigint) => {
    if (first <= last) ranges.push({ first: numberToAddress(first, family), last: numberToAddress(last, family) });
  };
  let next = whole.first;
  for (const { first, last } of gaps) {
    if (last < next || first > whole.last) continue;
    add(next, first - 1n);
    next = last + 1n;
  }
  add(next, whole.last);
  return ranges;
}

function spanOf({ base, family, prefix }: IPBlock): { readonly first: bigint; readonly last: bigint } {
  const bits = family === 4 ? 32 : 128;
  const first = addressToNumber(formatAddress(family === 4 ? base.subarray(12) : base));
  return { first, last: first + (1n << BigInt(bits - prefix)) - 1n };
}
