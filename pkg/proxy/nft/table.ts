/** A table of nftables as data, in the syntax of nft(8), and the commands that change it. */

export interface NftSet {
  readonly name: string;
  readonly kind: 'set' | 'map';
  /** `type ipv4_addr . inet_service : verdict; flags interval;` */
  readonly declaration: string;
  /** Filled by packets, so it is not compared. */
  readonly isDynamic?: boolean;
}

export interface NftChain {
  readonly name: string;
  /** For base chains: `type nat hook output priority -100;`. */
  readonly hook?: string;
  /** One rule each. */
  readonly rules: readonly string[];
}

/** An element of a set or, with data, of a map. */
export interface NftElement {
  readonly set: string;
  /** `10.96.0.1 . tcp . 80`, with canonical addresses. */
  readonly key: string;
  /** Empty in sets. */
  readonly data: string;
}

/** What one owner, such as a service, adds. Chains and sets of the same name must be equal for all owners. */
export interface Contribution {
  readonly elements: readonly NftElement[];
  readonly chains: readonly NftChain[];
  readonly sets?: readonly NftSet[];
}

/** Content that a table always has. */
export interface BaseTable {
  /** Name in the family `inet`. */
  readonly name: string;
  readonly sets: readonly NftSet[];
  readonly chains: readonly NftChain[];
  /** Tables of another version are recreated; rules are not compared word by word. */
  readonly version: string;
}

/** Name of the empty chain that stores a table's version. */
export function versionChain({ version }: BaseTable): string {
  return `version-${version}`;
}

/** A change of a table, applied as one transaction. */
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
    // A chain of this name may exist with other rules.
    lines.push(`flush chain ${place} ${name}`);
  }
  for (const { name, rules } of change.addChains) {
    for (const rule of rules) lines.push(`add rule ${place} ${name} ${rule}`);
  }
  pushElements(lines, `delete element ${place}`, change.deleteElements, ({ key }) => key);
  pushElements(lines, `add element ${place}`, change.addElements, ({ key, data }) =>
    data === '' ? key : `${key} : ${data}`,
  );
  // Chains may refer to each other.
  for (const name of change.deleteChains) lines.push(`flush chain ${place} ${name}`);
  for (const name of change.deleteChains) lines.push(`delete chain ${place} ${name}`);
  for (const name of change.deleteSets) lines.push(`delete set ${place} ${name}`);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** One command per set. */
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
