/** The commands of nft(8) that change a table, in the order in which one transaction may have them. */
import type { NftChain, NftElement, NftSet } from '#proxy/nft/table.js';

/** All of it happens, or nothing. */
export interface TableChange {
  readonly addSets: readonly NftSet[];
  readonly addChains: readonly NftChain[];
  readonly deleteElements: readonly NftElement[];
  readonly addElements: readonly NftElement[];
  readonly deleteChains: readonly string[];
  readonly deleteSets: readonly string[];
}

export function isEmptyChange(change: TableChange): boolean {
  return Object.values(change).every((part: readonly unknown[]) => part.length === 0);
}

export function changeText(table: string, change: TableChange): string {
  const place = `inet ${table}`;
  const lines: string[] = [];
  for (const { kind, name, declaration } of change.addSets)
    lines.push(`add ${kind} ${place} ${name} { ${declaration} }`);
  for (const { name, hook } of change.addChains) {
    lines.push(`add chain ${place} ${name}${hook === undefined ? '' : ` { ${hook} }`}`);
    // One of the same name may be there with other rules.
    lines.push(`flush chain ${place} ${name}`);
  }
  for (const { name, rules } of change.addChains) {
    for (const rule of rules) lines.push(`add rule ${place} ${name} ${rule}`);
  }
  pushElements(lines, `delete element ${place}`, change.deleteElements, ({ key }) => key);
  pushElements(lines, `add element ${place}`, change.addElements, ({ key, data }) =>
    data === '' ? key : `${key} : ${data}`,
  );
  // They may lead to each other.
  for (const name of change.deleteChains) lines.push(`flush chain ${place} ${name}`);
  for (const name of change.deleteChains) lines.push(`delete chain ${place} ${name}`);
  for (const name of change.deleteSets) lines.push(`delete set ${place} ${name}`);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** One command for each set. */
function pushElements(
  lines: string[],
  command: string,
  elements: readonly NftElement[],
  text: (element: NftElement) => string,
): void {
  const bySet = new Map<string, string[]>();
  for (const element of elements) {
    const texts = bySet.get(element.set);
    if (texts === undefined) bySet.set(element.set, [text(element)]);
    else texts.push(text(element));
  }
  for (const [set, texts] of bySet) lines.push(`${command} ${set} { ${texts.join(', ')} }`);
}
