/** Cycles among files, and among the folders of a package. Pure. */
import { posix } from 'node:path';
import type { Import } from './imports.js';

export interface Cycle {
  /** Files or folders, sorted; each reaches every other. */
  readonly members: readonly string[];
  /** The imports that tie them, in the order of their paths. */
  readonly imports: readonly Import[];
}

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly cause: Import;
}

/** Groups of nodes that reach each other, by Tarjan's algorithm; single nodes are none. */
function components(edges: readonly Edge[]): string[][] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of edges) next.set(from, (next.get(from) ?? new Set()).add(to));
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const open = new Set<string>();
  const components: string[][] = [];
  const visit = (node: string): void => {
    const at = order.size;
    order.set(node, at);
    lowest.set(node, at);
    stack.push(node);
    open.add(node);
    for (const other of next.get(node) ?? []) {
      if (!order.has(other)) visit(other);
      if (open.has(other)) lowest.set(node, Math.min(lowest.get(node) ?? at, lowest.get(other) ?? at));
    }
    if (lowest.get(node) !== at) return;
    const group = stack.splice(stack.indexOf(node));
    for (const member of group) open.delete(member);
    if (group.length > 1) components.push(group.sort());
  };
  for (const node of [...next.keys()].sort()) if (!order.has(node)) visit(node);
  return components;
}

function cyclesOf(edges: readonly Edge[]): Cycle[] {
  return components(edges).map((members) => {
    const inside = new Set(members);
    const imports = edges
      .filter(({ from, to }) => from !== to && inside.has(from) && inside.has(to))
      .map(({ cause }) => cause)
      .sort((a, b) => `${a.from} ${a.to}`.localeCompare(`${b.from} ${b.to}`));
    return { members, imports };
  });
}

/** Tests may import whatever they test; nothing imports them. */
function below(folder: string, imports: readonly Import[]): Import[] {
  const inside = (path: string) => path.startsWith(`${folder}/`) && !path.endsWith('.test.ts');
  return imports.filter(({ from, to }) => inside(from) && inside(to));
}

export function fileCycles(folder: string, imports: readonly Import[]): Cycle[] {
  return cyclesOf(below(folder, imports).map((cause) => ({ ...cause, cause })));
}

/**
 * At each level of the tree the folders in it, each with all that is below it, and the files beside them as one more:
 * none may reach itself through another. `a/x.ts → b/y.ts → a/deep/z.ts` is a cycle of `a` and `b`.
 */
export function folderCycles(folder: string, imports: readonly Import[]): Cycle[] {
  const levels = new Map<string, Edge[]>();
  for (const cause of below(folder, imports)) {
    const level = commonFolder(cause.from, cause.to);
    const from = childOf(level, cause.from);
    const to = childOf(level, cause.to);
    if (from === to) continue;
    levels.set(level, [...(levels.get(level) ?? []), { from, to, cause }]);
  }
  return [...levels.keys()].sort().flatMap((level) => cyclesOf(levels.get(level) ?? []));
}

function commonFolder(a: string, b: string): string {
  let folder = posix.dirname(a);
  while (!b.startsWith(`${folder}/`)) folder = posix.dirname(folder);
  return folder;
}

/** The folder in `level` that holds the file; `level/*` for a file that lies in `level` itself. */
function childOf(level: string, file: string): string {
  const [first = '', ...rest] = file.slice(level.length + 1).split('/');
  return rest.length === 0 ? `${level}/*` : `${level}/${first}`;
}
