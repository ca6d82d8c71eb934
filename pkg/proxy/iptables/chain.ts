/** Chains of iptables as data, in the syntax of iptables-restore(8), and the commands that change them. */

import { createHash } from 'node:crypto';
import { blockAround } from '#apimachinery/net/ip.js';
import { rangeText } from '#proxy/services/addresses.js';

/** In packet order. */
export const tables = ['mangle', 'nat', 'filter'] as const;
export type Table = (typeof tables)[number];

export interface Chain {
  readonly table: Table;
  readonly name: string;
  /** Rules without `-A chain`: `-d 10.96.0.1/32 -j RETURN`. At least one. */
  readonly rules: readonly string[];
}

/** A built-in chain that jumps to one of ours. */
export interface Hook {
  readonly table: Table;
  readonly from: 'PREROUTING' | 'INPUT' | 'FORWARD' | 'OUTPUT' | 'POSTROUTING';
  readonly to: string;
}

/** A rule in a bucket: one of the chains that a long list is split into. */
export interface Entry {
  readonly list: string;
  /** Name of the bucket's chain. */
  readonly bucket: string;
  /** Match common to the bucket's packets: `-d 10.96.0.0/24`. */
  readonly match: string;
  readonly rule: string;
}

/** What one owner, such as a service, adds. Chains of the same name must be equal for all owners. */
export interface Contribution {
  readonly chains: readonly Chain[];
  readonly entries: readonly Entry[];
}

/** A chain that leads to its buckets. */
export interface List {
  readonly table: Table;
  readonly name: string;
  /** Rules before and after the jumps to the buckets. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Chains that always exist. */
export interface BaseChains {
  readonly prefix: string;
  readonly hooks: readonly Hook[];
  readonly chains: readonly Chain[];
  readonly lists: readonly List[];
}

const longestPrefix = 13;

/** Prefix of all chain names; the kernel allows 28 characters. */
export function chainPrefix(name: string): string {
  return name.length <= longestPrefix ? name : `t${shortHash(name)}`;
}

/** A hash of twelve hexadecimal digits. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** Parts of the proxy that own chains, each with its own names. */
export const keepers = ['services', 'policies'] as const;
export type Keeper = (typeof keepers)[number];

/** Chains of services that always exist, after the prefix. */
export const chainNames = {
  sources: 'sources',
  services: 'services',
  nodePorts: 'node-ports',
  postrouting: 'postrouting',
  input: 'input',
  forward: 'forward',
  output: 'output',
  noEndpoints: 'nobody',
  noEndpointsAtPort: 'nobody-port',
} as const;

/** Chains of policies: traffic that pods send, and traffic that they receive. */
export const policyChainNames = { egress: 'sent', ingress: 'taken' } as const;

/** Other names are a letter for the chain's kind and a hash. */
const namesOf: Readonly<Record<Keeper, { readonly words: ReadonlySet<string>; readonly hashed: RegExp }>> = {
  services: { words: new Set(Object.values(chainNames)), hashed: /^[a-z][0-9a-f]{12}$/ },
  policies: { words: new Set(Object.values(policyChainNames)), hashed: /^[A-Z][0-9a-f]{12}$/ },
};

/** Recognizes an owner's chains by name, excluding those of a longer prefix that starts with this one. */
export function ownChains(prefix: string, keeper: Keeper): (name: string) => boolean {
  const { hashed, words } = namesOf[keeper];
  return (name) => {
    if (!name.startsWith(`${prefix}-`)) return false;
    const rest = name.slice(prefix.length + 1);
    return words.has(rest) || hashed.test(rest);
  };
}

/** Identifies a chain's rules in the comment of the first one, because the kernel lists rules in another spelling. */
export function digestOf(rules: readonly string[]): string {
  return shortHash(rules.join('\n'));
}

export interface ChainChange {
  /** Created or replaced. */
  readonly written: readonly Chain[];
  readonly deleted: readonly Pick<Chain, 'table' | 'name'>[];
  readonly addedHooks: readonly Hook[];
  readonly deletedHooks: readonly Hook[];
}

/** Input of `iptables-restore --noflush`; each table is one transaction. Undefined if nothing changes. */
export function changeText(change: ChainChange): string | undefined {
  const texts = tables.flatMap((table) => tableText(table, change));
  return texts.length === 0 ? undefined : `${texts.join('\n')}\n`;
}

function tableText(table: Table, change: ChainChange): string[] {
  const of = <T extends { readonly table: Table }>(all: readonly T[]): T[] =>
    all.filter((each) => each.table === table);
  const written = of(change.written);
  const deleted = of(change.deleted);
  const addedHooks = of(change.addedHooks);
  const deletedHooks = of(change.deletedHooks);
  if (written.length + deleted.length + addedHooks.length + deletedHooks.length === 0) return [];
  return [
    `*${table}`,
    // Creates a chain, or empties an existing one.
    ...[...written, ...deleted].map(({ name }) => `:${name} - [0:0]`),
    ...written.flatMap(ruleLines),
    ...addedHooks.map(({ from, to }) => `-I ${from} -j ${to}`),
    ...deletedHooks.map(({ from, to }) => `-D ${from} -j ${to}`),
    ...deleted.map(({ name }) => `-X ${name}`),
    'COMMIT',
  ];
}

/** The first rule carries the digest of all. */
function ruleLines({ name, rules }: Chain): string[] {
  return rules.map((rule, place) => {
    const comment = place === 0 ? `-m comment --comment ${digestOf(rules)} ` : '';
    return `-A ${name} ${comment}${rule}`;
  });
}

/** The block of this prefix length around an address, as text; other text is returned unchanged. */
export function addressBucket(address: string, prefix: number): string {
  const block = blockAround(address, prefix);
  return block === undefined ? address : rangeText(block);
}
