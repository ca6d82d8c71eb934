/** Who owns an object, and what it owns, down to the pods. Pure. */
import type { Row } from '#dashboard/model/table.js';

/** Objects of one kind that may own or be owned. */
export interface OwnedRows {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly rows: Iterable<Row>;
  /** How an object is, in its table's words. */
  readonly statusOf: (row: Row) => string;
}

export interface TreeNode {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly status: string;
  /** 0: the topmost owner. */
  readonly depth: number;
}

/** More objects are left out. */
const maxNodes = 500;
const maxDepth = 8;

interface Entry {
  readonly of: OwnedRows;
  readonly row: Row;
}

/** The whole tree of the object with that uid, from its topmost owner, depth first. Empty if there is no such object. */
export function ownerTree(kinds: readonly OwnedRows[], uid: string): TreeNode[] {
  const byUid = new Map<string, Entry>();
  const children = new Map<string, Entry[]>();
  for (const of of kinds) {
    for (const row of of.rows) {
      const entry = { of, row };
      byUid.set(row.uid, entry);
      for (const owner of row.owners ?? []) {
        const held = children.get(owner.uid);
        if (held === undefined) children.set(owner.uid, [entry]);
        else held.push(entry);
      }
    }
  }
  let top = byUid.get(uid);
  for (let steps = 0; top !== undefined && steps < maxDepth; steps++) {
    const owners = top.row.owners ?? [];
    const owner = owners.find(({ controller }) => controller) ?? owners[0];
    const above = owner && byUid.get(owner.uid);
    if (above === undefined) break;
    top = above;
  }
  const nodes: TreeNode[] = [];
  const visit = ({ of, row }: Entry, depth: number, path: ReadonlySet<string>) => {
    if (nodes.length >= maxNodes || depth > maxDepth || path.has(row.uid)) return;
    const { group, resource, kind } = of;
    const { namespace, name } = row;
    nodes.push({ group, resource, kind, namespace, name, uid: row.uid, status: of.statusOf(row), depth });
    const inside = new Set([...path, row.uid]);
    const below = (children.get(row.uid) ?? []).sort((a, b) => (a.row.name < b.row.name ? -1 : 1));
    for (const child of below) visit(child, depth + 1, inside);
  };
  if (top !== undefined) visit(top, 0, new Set());
  return nodes;
}
