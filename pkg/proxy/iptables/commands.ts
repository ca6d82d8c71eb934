/** The text for `iptables-restore --noflush` that changes chains; each table is one transaction. */
import { type Chain, digestOf, type Hook, type Table, tables } from '#proxy/iptables/chain.js';

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
