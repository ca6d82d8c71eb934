/** Chains of iptables as data. Texts are in the language of iptables-restore(8). */
import { blockAround } from '#apimachinery/net/ip.js';
import { rangeText } from '#proxy/services/addresses.js';
import { createHash } from 'node:crypto';

/** In the order in which packets come to them. */
export const tables = ['mangle', 'nat', 'filter'] as const;
export type Table = (typeof tables)[number];

export interface Chain {
  readonly table: Table;
  readonly name: string;
  /** Without the chain: `-d 10.96.0.1/32 -j RETURN`. At least one. */
  readonly rules: readonly string[];
}

/** A chain of the kernel's own from which packets come to one of ours. */
export interface Hook {
  readonly table: Table;
  readonly from: 'PREROUTING' | 'INPUT' | 'FORWARD' | 'OUTPUT' | 'POSTROUTING';
  readonly to: string;
}

/** A rule that is found by its key, in one of the chains into which a long list is split. */
export interface Entry {
  readonly list: string;
  /** Names the chain, in a list of the family. */
  readonly bucket: string;
  /** What the packets of the chain have in common: `-d 10.96.0.0/24`. */
  readonly match: string;
  readonly rule: string;
}

/** What one owner, such as a service, adds. Chains of the same name are the same for all owners. */
export interface Contribution {
  readonly chains: readonly Chain[];
  readonly entries: readonly Entry[];
}

/** A list of entries: a chain that leads to those of its buckets. */
export interface List {
  readonly table: Table;
  readonly name: string;
  /** Rules in front of the buckets, and behind them. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** What is there always. */
export interface BaseChains {
  readonly prefix: string;
  readonly hooks: readonly Hook[];
  readonly chains: readonly Chain[];
  readonly lists: readonly List[];
}

const longestPrefix = 13;

/** What the names of all chains begin with: the kernel takes 28 characters. */
export function chainPrefix(name: string): string {
  return name.length <= longestPrefix ? name : `t${shortHash(name)}`;
}

/** Twelve characters that tell one text from others. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** Who keeps chains: each has names of its own, so that one leaves the other's alone. */
export const keepers = ['services', 'policies'] as const;
export type Keeper = (typeof keepers)[number];

/** Chains of services that are there always, after the prefix. */
export const chainNames = {
  sources: 'sources',
  services: 'services',
  nodePorts: 'node-ports',
  postrouting: 'postrouting',
  input: 'input',
  forward: 'forward',
  output: 'output',
  nobody: 'nobody',
  nobodyAtPort: 'nobody-port',
} as const;

/** Those of policies: what is compared with what a pod may send, and what it may take. */
export const policyChainNames = { egress: 'sent', ingress: 'taken' } as const;

/** Besides words: a letter that tells what the chain is for, and a hash. */
const namesOf: Readonly<Record<Keeper, { readonly words: ReadonlySet<string>; readonly hashed: RegExp }>> = {
  services: { words: new Set(Object.values(chainNames)), hashed: /^[a-z][0-9a-f]{12}$/ },
  policies: { words: new Set(Object.values(policyChainNames)), hashed: /^[A-Z][0-9a-f]{12}$/ },
};

/** Tells the chains of a keeper from all others, also from those of a longer prefix that begins like this one. */
export function ownChains(prefix: string, keeper: Keeper): (name: string) => boolean {
  const { hashed, words } = namesOf[keeper];
  return (name) => {
    if (!name.startsWith(`${prefix}-`)) return false;
    const rest = name.slice(prefix.length + 1);
    return words.has(rest) || hashed.test(rest);
  };
}

/** Tells in a rule's comment what its chain has: the kernel writes rules in other words than ours. */
export function digestOf(rules: readonly string[]): string {
  return shortHash(rules.join('\n'));
}

/** The text for `iptables-restore --noflush` that changes chains; each table is one transaction. */

export interface ChainChange {
  /** Made, or made anew. */
  readonly written: readonly Chain[];
  readonly deleted: readonly Pick<Chain, 'table' | 'name'>[];
  readonly addedHooks: readonly Hook[];
  readonly deletedHooks: readonly Hook[];
}

/** Undefined where nothing changes. */
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
    // A line of this kind makes a chain, or empties the one that is there.
    ...[...written, ...deleted].map(({ name }) => `:${name} - [0:0]`),
    ...written.flatMap(ruleLines),
    ...addedHooks.map(({ from, to }) => `-I ${from} -j ${to}`),
    ...deletedHooks.map(({ from, to }) => `-D ${from} -j ${to}`),
    ...deleted.map(({ name }) => `-X ${name}`),
    'COMMIT',
  ];
}

/** The first one carries the digest of all. */
function ruleLines({ name, rules }: Chain): string[] {
  return rules.map((rule, place) => {
    const comment = place === 0 ? `-m comment --comment ${digestOf(rules)} ` : '';
    return `-A ${name} ${comment}${rule}`;
  });
}

/** How long lists of addresses are split into chains. */

/** The block of that prefix length around an address, as text; what is no address stays as it is. */
export function addressBucket(address: string, prefix: number): string {
  const block = blockAround(address, prefix);
  return block === undefined ? address : rangeText(block);
}
