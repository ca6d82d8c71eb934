/** Parses `nft -j list table`, as far as it is compared. */

export interface TableListing {
  /** Set → key → data, in the syntax of `NftElement`. */
  readonly sets: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Number of rules by chain. */
  readonly chains: ReadonlyMap<string, number>;
}

interface Listed {
  readonly set?: ListedSet;
  readonly map?: ListedSet;
  readonly chain?: { readonly name: string };
  readonly rule?: { readonly chain: string };
}

interface ListedSet {
  readonly name: string;
  readonly elem?: readonly unknown[];
}

/** Throws SyntaxError for invalid JSON. */
export function parseListing(text: string): TableListing {
  const { nftables = [] } = JSON.parse(text) as { nftables?: readonly Listed[] };
  const sets = new Map<string, Map<string, string>>();
  const chains = new Map<string, number>();
  for (const { set, map, chain, rule } of nftables) {
    if (chain !== undefined) chains.set(chain.name, 0);
    if (rule !== undefined) chains.set(rule.chain, (chains.get(rule.chain) ?? 0) + 1);
    const listed = set ?? map;
    if (listed !== undefined) sets.set(listed.name, elementsOf(listed, map !== undefined));
  }
  return { sets, chains };
}

function elementsOf({ elem = [] }: ListedSet, isMap: boolean): Map<string, string> {
  const elements = new Map<string, string>();
  for (const each of elem) {
    const [key, data] = isMap && Array.isArray(each) ? each : [each, undefined];
    elements.set(expressionText(key), data === undefined ? '' : expressionText(data));
  }
  return elements;
}

/** Converts a JSON expression to nft's syntax. */
function expressionText(expression: unknown): string {
  if (typeof expression !== 'object' || expression === null) return String(expression);
  const { concat, prefix, range, elem, goto: target, jump, drop } = expression as Expression;
  if (concat !== undefined) return concat.map(expressionText).join(' . ');
  if (prefix !== undefined) return `${prefix.addr}/${prefix.len}`;
  if (range !== undefined) return range.map(expressionText).join('-');
  if (elem !== undefined) return expressionText(elem.val);
  if (target !== undefined) return `goto ${target.target}`;
  if (jump !== undefined) return `jump ${jump.target}`;
  if (drop !== undefined) return 'drop';
  return JSON.stringify(expression);
}

interface Expression {
  readonly concat?: readonly unknown[];
  readonly prefix?: { readonly addr: string; readonly len: number };
  readonly range?: readonly unknown[];
  readonly elem?: { readonly val: unknown };
  readonly goto?: { readonly target: string };
  readonly jump?: { readonly target: string };
  readonly drop?: null;
}
