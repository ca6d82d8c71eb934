/**
 * Sets of paths into an object, in the form in which managedFields keep them (FieldsV1): a tree whose edges are
 * `f:<field>`, `k:<keys of a list's element>`, `v:<value>` and `i:<index>`. A node without edges is a member; one with
 * edges is a member when it has the edge `.` too. Sets are values: operations give new ones and share what is the same.
 */

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

const member: FieldSet = Object.freeze({});
/** The node of a member with nothing below it. */
export const memberOnly = member;
export const emptySet: FieldSet = Object.freeze({});

export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** Whether the node itself is a member. */
export function isMember(node: FieldSet | undefined): boolean {
  return node !== undefined && (Object.hasOwn(node, '.') || isEmptySet(node));
}

/** The node at that edge. */
export function at(node: FieldSet | undefined, element: string): FieldSet | undefined {
  return node !== undefined && Object.hasOwn(node, element) ? node[element] : undefined;
}

function edges(node: FieldSet): string[] {
  return Object.keys(node).filter((element) => element !== '.');
}

/** A node of these parts, undefined when there is nothing in it. */
function makeNode(self: boolean, children: readonly (readonly [string, FieldSet])[]): FieldSet | undefined {
  if (children.length === 0) return self ? member : undefined;
  const node: Record<string, FieldSet> = self ? { '.': member } : {};
  for (const [name, child] of children) node[name] = child;
  return node;
}

interface Rule {
  /** Whether a path is a member of the result. */
  readonly member: (inLeft: boolean, inRight: boolean) => boolean;
  /** What is taken as it is where the other side has nothing. */
  readonly keepsLeft: boolean;
  readonly keepsRight: boolean;
}

const unionRule: Rule = { member: (left, right) => left || right, keepsLeft: true, keepsRight: true };
const intersectionRule: Rule = { member: (left, right) => left && right, keepsLeft: false, keepsRight: false };
const differenceRule: Rule = { member: (left, right) => left && !right, keepsLeft: true, keepsRight: false };

/** Looks only where both sides have something; gives `left` itself when nothing changes. */
function combine(left: FieldSet, right: FieldSet, rule: Rule, isRoot: boolean): FieldSet | undefined {
  const children: [string, FieldSet][] = [];
  let same = true;
  for (const name of edges(left)) {
    const mine = left[name] ?? member;
    const other = at(right, name);
    const child = other === undefined ? (rule.keepsLeft ? mine : undefined) : combine(mine, other, rule, false);
    if (child !== undefined) children.push([name, child]);
    if (child !== mine) same = false;
  }
  if (rule.keepsRight) {
    for (const name of edges(right)) {
      if (Object.hasOwn(left, name)) continue;
      children.push([name, right[name] ?? member]);
      same = false;
    }
  }
  const self = !isRoot && rule.member(isMember(left), isMember(right));
  if (same && (isRoot || self === isMember(left))) return left;
  return makeNode(self, children);
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  return combine(a, b, unionRule, true) ?? emptySet;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return emptySet;
  return combine(a, b, intersectionRule, true) ?? emptySet;
}

/** Members of `a` that are none of `b`; members below those of `b` stay. Gives `a` itself when there are none. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a;
  return combine(a, b, differenceRule, true) ?? emptySet;
}

/** Members of `a` that are neither in `b` nor below a member of it. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a;
  return withoutBelow(a, b, true) ?? emptySet;
}

function withoutBelow(a: FieldSet, b: FieldSet | undefined, isRoot: boolean): FieldSet | undefined {
  if (b === undefined) return a;
  if (!isRoot && isMember(b)) return undefined;
  const children: [string, FieldSet][] = [];
  for (const name of edges(a)) {
    const child = withoutBelow(a[name] ?? member, at(b, name), false);
    if (child !== undefined) children.push([name, child]);
  }
  return makeNode(!isRoot && isMember(a), children);
}

export function setsEqual(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && setsEqual(a[name] ?? member, b[name] ?? member));
}

const kindOrder = '.fkvi';
const indexKind = 'i'.charCodeAt(0);

function byKind(a: string, b: string): number {
  return kindOrder.indexOf(a.charAt(0)) - kindOrder.indexOf(b.charAt(0)) || (a < b ? -1 : 1);
}

/** The same set with its edges in the order in which release 1.24 writes them; gives the set itself where they are. */
export function sorted(set: FieldSet): FieldSet {
  const names = Object.keys(set);
  let inOrder = true;
  let indexed = false;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    if (name.charCodeAt(0) === indexKind) indexed = true;
    if (i > 0 && name < (names[i - 1] as string)) inOrder = false;
  }
  // Only indices do not stand where the alphabet has them.
  if (indexed) names.sort(byKind);
  else if (!inOrder) names.sort();
  if (inOrder && !indexed) return sortedBelow(set, names);
  const result: Record<string, FieldSet> = {};
  for (const name of names) result[name] = sorted(set[name] ?? member);
  return result;
}

/** A set whose own edges, `names`, are in order: copied from the first child on that is not. */
function sortedBelow(set: FieldSet, names: readonly string[]): FieldSet {
  let result: Record<string, FieldSet> | undefined;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const child = set[name] ?? member;
    const placed = child === member ? member : sorted(child);
    if (placed !== child && result === undefined) {
      result = {};
      for (const before of names.slice(0, i)) result[before] = set[before] ?? member;
    }
    if (result !== undefined) result[name] = placed;
  }
  return result ?? set;
}

/** Paths of all members, edges from the root on. */
export function* paths(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  if (prefix.length > 0 && isMember(set)) yield prefix;
  for (const name of edges(set)) yield* paths(set[name] ?? member, [...prefix, name]);
}

/** A path as messages write it: `.spec.containers[name="a"].image`. */
export function pathText(path: readonly string[]): string {
  return path
    .map((element) => {
      const rest = element.slice(2);
      switch (element.charAt(0)) {
        case 'f':
          return `.${rest}`;
        case 'k':
          return `[${keysText(rest)}]`;
        case 'v':
          return `[=${rest}]`;
        default:
          return `[${rest}]`;
      }
    })
    .join('');
}

/** `{"name":"a"}` as `name="a"`; what a client wrote there may be no JSON at all. */
function keysText(keys: string): string {
  try {
    return Object.entries(JSON.parse(keys) as object)
      .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
      .join(',');
  } catch {
    return keys;
  }
}

/** The set of these paths of field names: `['status', 'metadata.name']`. */
export function setOfFields(names: readonly string[]): FieldSet {
  const builder = new FieldSetBuilder();
  for (const name of names) builder.insert(name.split('.').map((part) => `f:${part}`));
  return builder.set;
}

interface MutableSet extends FieldSet {
  [element: string]: MutableSet;
}

/** A set that grows. Paths that follow each other in the order of a walk are put in fastest. */
export class FieldSetBuilder {
  /** Along the path that was inserted last: the root, and the node behind each of its elements. */
  readonly #nodes: MutableSet[] = [{}];
  readonly #path: string[] = [];

  insert(path: readonly string[]): void {
    const nodes = this.#nodes;
    const known = this.#path;
    let depth = 0;
    while (depth < path.length && depth < known.length && known[depth] === path[depth]) depth++;
    // What is behind the common part is forgotten, so the two stay equally long.
    known.length = depth;
    nodes.length = depth + 1;
    let fresh = false;
    for (; depth < path.length; depth++) {
      const element = path[depth] as string;
      const node = nodes[depth] as MutableSet;
      let next = node[element];
      if (next === undefined) {
        // A member that gets its first edge has to say from now on that it is one.
        if (!fresh && depth > 0 && isEmptySet(node)) node['.'] = member;
        next = {};
        node[element] = next;
        fresh = true;
      }
      known.push(element);
      nodes.push(next);
    }
    const last = nodes[depth] as MutableSet;
    if (depth > 0 && !isEmptySet(last)) last['.'] = member;
  }

  /** As it is now; nothing may be inserted any more. */
  get set(): FieldSet {
    return this.#nodes[0] ?? emptySet;
  }
}
/** Nesting of sets that come from clients. */
const maxDepth = 500;

const element = /^(\.$|f:|v:|i:-?[0-9]+$|k:\{)/;

/** Whether a value has the form of a set. */
export function isFieldSet(value: unknown, depth = 0): value is FieldSet {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth > maxDepth) return false;
  for (const name in value) {
    if (!element.test(name) || !isFieldSet((value as Record<string, unknown>)[name], depth + 1)) return false;
  }
  return true;
}
