/** Parses iptables-save(8), as far as it is compared. */
import type { Hook, Table } from '#proxy/iptables/chain.js';

export interface ListedChain {
  readonly table: Table;
  readonly name: string;
  /** Digest of the rules when they were written; undefined if another program wrote them. */
  readonly digest: string | undefined;
  readonly rules: number;
}

export interface ChainListing {
  /** By `table name`. */
  readonly chains: ReadonlyMap<string, ListedChain>;
  /** Rules of built-in chains that only jump to ours, including duplicates. */
  readonly hooks: readonly Hook[];
}

/** @param isOwn Recognizes our chains by name. */
export function parseListing(text: string, isOwn: (name: string) => boolean): ChainListing {
  const chains = new Map<string, { -readonly [key in keyof ListedChain]: ListedChain[key] }>();
  const hooks: Hook[] = [];
  let table = '' as Table;
  for (const line of text.split('\n')) {
    if (line.startsWith('*')) table = line.slice(1).trim() as Table;
    const declared = /^:(\S+) -/.exec(line)?.[1];
    if (declared !== undefined && isOwn(declared))
      chains.set(`${table} ${declared}`, { table, name: declared, digest: undefined, rules: 0 });
    const name = /^-A (\S+) /.exec(line)?.[1];
    if (name === undefined) continue;
    const chain = chains.get(`${table} ${name}`);
    if (chain !== undefined) {
      if (chain.rules === 0) chain.digest = /-m comment --comment "?([0-9a-f]{12})"? /.exec(line)?.[1];
      chain.rules++;
      continue;
    }
    const to = /^-A \S+ -j (\S+)$/.exec(line)?.[1];
    if (to !== undefined && isOwn(to)) hooks.push({ table, from: name as Hook['from'], to });
  }
  return { chains, hooks };
}
