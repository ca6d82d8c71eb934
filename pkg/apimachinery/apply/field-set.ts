/**
 * Sets of paths into an object in the form of managedFields (FieldsV1): a tree with the edges `f:<field>`, `k:<keys of
 * a list element>`, `v:<value>` and `i:<index>`. A node without edges is a member; a node with edges is a member if it
 * also has the edge `.`. Sets are immutable: operations return new sets that share unchanged parts.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { toJSONText } from '#apimachinery/json-text.js';

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

const member: FieldSet = Object.freeze({});
/** The node of a member without edges. */
export const memberOnly = member;
export const emptySet: FieldSet = Object.freeze({});

export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** Whether the node itself is a member. `hasEdges`: if the caller already knows that it has edges. */
export function isMember(node: FieldSet | undefined, hasEdges = false): boolean {
  return node !== undefined && (Object.hasOwn(node, '.') || (!hasEdges && isEmptySet(node)));
}

/** The node at that edge. */
export function at(node: FieldSet | undefined, element: string): FieldSet | undefined {
  return node !== undefined && Object.hasOwn(node, element) ? node[element] : undefined;
}

type MutableNode = Record<string, FieldSet>;

interface Rule {
  /** Whether a path is a member of the result. */
  readonly member: (inLeft: boolean, inRight: boolean) => boolean;
  /** A subtree without counterpart in the other set is kept. */
  readonly keepsLeft: boolean;
  readonly keepsRight: boolean;
}

const unionRule: Rule = { member: (left, right) => left || right, keepsLeft: true, keepsRight: true };
const intersectionRule: Rule = { member: (left, right) => left && right, keepsLeft: false, keepsRight: false };
const differenceRule: Rule = { member: (left, right) => left && !right, keepsLeft: true, keepsRight: false };

/** Descends only where both sets have nodes; returns `left` itself if nothing changes. Preserves sorted order. */
function combine(left: FieldSet, right: FieldSet, rule: Rule, isRoot: boolean): FieldSet | undefined {
  // The loops record whether nodes have edges: asking a large node costs as much as iterating over it.
  let leftHasEdges = false;
  let rightHasEdges = false;
  let hasEdges = false;
  let self: boolean | undefined;
  const isSelf = () => {
    self ??= !isRoot && rule.member(isMember(left, leftHasEdges), isMember(right, rightHasEdges));
    return self;
  };
  // Created at the first difference.
  let node: MutableNode | undefined;
  for (const name in left) {
    leftHasEdges = true;
    if (name === '.') continue;
    const mine = left[name] ?? member;
    const other = at(right, name);
    if (other !== undefined) rightHasEdges = true;
    const child = other === undefined ? (rule.keepsLeft ? mine : undefined) : combine(mine, other, rule, false);
    if (child !== mine) node ??= edgesBefore(left, name, isSelf());
    if (child === undefined) continue;
    hasEdges = true;
    if (node !== undefined) node[name] = child;
  }
  if (rule.keepsRight) {
    const more: string[] = [];
    for (const name in right) {
      rightHasEdges = true;
      if (name !== '.' && !Object.hasOwn(left, name)) more.push(name);
    }
    if (more.length > 0) return withEdges(node ?? left, right, more, isSelf());
  }
  if (node === undefined) {
    if (isRoot || isSelf() === isMember(left, leftHasEdges)) return left;
    node = edgesBefore(left, undefined, isSelf());
  }
  if (!hasEdges) return isSelf() ? member : undefined;
  return node;
}

/** The node plus edges of `right`, in order. Built in one pass: sorting afterwards would double the time. */
function withEdges(node: FieldSet, right: FieldSet, more: readonly string[], self: boolean): FieldSet {
  const names: string[] = [];
  for (const name in node) if (name !== '.') names.push(name);
  for (const name of more) names.push(name);
  if (!areInOrder(names)) putInOrder(names);
  const result: MutableNode = self ? { '.': member } : {};
  for (const name of names) result[name] = at(node, name) ?? right[name] ?? member;
  return result;
}

/** A copy of the node up to the edge `end`; `self`: whether it is a member. */
function edgesBefore(node: FieldSet, end: string | undefined, self: boolean): MutableNode {
  const copy: MutableNode = self ? { '.': member } : {};
  for (const name in node) {
    if (name === end) break;
    if (name !== '.') copy[name] = node[name] ?? member;
  }
  return copy;
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

/** The union of two nodes, each of which may be a member. */
export function unionBelow(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, unionRule, false) ?? member;
}

/** Members of `a` that are not in `b`; members below those of `b` stay. Returns `a` itself if unchanged. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a;
  return combine(a, b, differenceRule, true) ?? emptySet;
}

/** Members of `a` that are neither in `b` nor below a member of it. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a;
  return withoutBelow(a, b, true) ?? emptySet;
}

function withoutBelow(a: FieldSet, b: FieldSet, isRoot: boolean): FieldSet | undefined {
  if (!isRoot && isMember(b)) return undefined;
  const self = !isRoot && isMember(a);
  let node: MutableNode | undefined;
  let hasEdges = false;
  for (const name in a) {
    if (name === '.') continue;
    const mine = a[name] ?? member;
    const other = at(b, name);
    const child = other === undefined ? mine : withoutBelow(mine, other, false);
    if (child !== mine) node ??= edgesBefore(a, name, self);
    if (child === undefined) continue;
    hasEdges = true;
    if (node !== undefined) node[name] = child;
  }
  if (node === undefined) return a;
  return hasEdges ? node : self ? member : undefined;
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

/** The set with its edges in the order of release 1.24; returns the set itself if it is sorted. */
export function sorted(set: FieldSet): FieldSet {
  let result: MutableNode | undefined;
  let last = '';
  for (const name in set) {
    if (name < last || name.charCodeAt(0) === indexKind) {
      return reordered(set, (child) => (isEmptySet(child) ? member : sorted(child)));
    }
    last = name;
    const child = set[name] ?? member;
    const placed = isEmptySet(child) ? child : sorted(child);
    if (placed !== child) result ??= edgesBefore(set, name, Object.hasOwn(set, '.'));
    if (result !== undefined) result[name] = placed;
  }
  return result ?? set;
}

/** Whether the node's own edges are sorted: alphabetical order, if there are no indexes. */
function isInOrder(set: FieldSet): boolean {
  let last = '';
  for (const name in set) {
    if (name < last || name.charCodeAt(0) === indexKind) return false;
    last = name;
  }
  return true;
}

function areInOrder(names: readonly string[]): boolean {
  let last = '';
  for (const name of names) {
    if (name < last || name.charCodeAt(0) === indexKind) return false;
    last = name;
  }
  return true;
}

function putInOrder(names: string[]): void {
  names.sort(names.some((name) => name.charCodeAt(0) === indexKind) ? byKind : undefined);
}

/** The node with its own edges sorted; returns the node itself if they are. */
export function inOrder(set: FieldSet): FieldSet {
  return isInOrder(set) ? set : reordered(set, (child) => child);
}

function reordered(set: FieldSet, place: (child: FieldSet) => FieldSet): FieldSet {
  const names = Object.keys(set);
  putInOrder(names);
  const result: MutableNode = {};
  for (const name of names) result[name] = place(set[name] ?? member);
  return result;
}

/** Paths of all members from the root on: at each node first its members, then the paths below them. */
export function* paths(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  for (const name in set) if (name !== '.' && isMember(set[name] ?? member)) yield [...prefix, name];
  for (const name in set) if (name !== '.') yield* paths(set[name] ?? member, [...prefix, name]);
}

/** The path in messages: `.spec.containers[name="a"].image`. */
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

/** `{"name":"a"}` as `name="a"`; a client may send keys that are not JSON. */
function keysText(keys: string): string {
  try {
    return Object.entries(parseJSONText(keys) as object)
      .map(([key, value]) => `${key}=${toJSONText(value)}`)
      .join(',');
  } catch {
    return keys;
  }
}

/** The set of dotted field paths: `['status', 'metadata.name']`. */
export function setOfFields(names: readonly string[]): FieldSet {
  const builder = new FieldSetBuilder();
  for (const name of names) builder.insert(name.split('.').map((part) => `f:${part}`));
  return builder.set;
}

interface MutableSet extends FieldSet {
  [element: string]: MutableSet;
}

/** A growing set. Inserting paths in the order of a walk is fastest. */
export class FieldSetBuilder {
  /** Nodes along the path inserted last: the root, then one for each element. */
  readonly #nodes: MutableSet[] = [{}];
  /** Whether each node has edges, if known: asking a large node costs as much as iterating over it. */
  readonly #hasEdges: (boolean | undefined)[] = [];
  readonly #path: string[] = [];

  insert(path: readonly string[]): void {
    const nodes = this.#nodes;
    const hasEdges = this.#hasEdges;
    const lastPath = this.#path;
    let depth = 0;
    while (depth < path.length && depth < lastPath.length && lastPath[depth] === path[depth]) depth++;
    // Truncate to the common prefix, so that all three stay in step.
    lastPath.length = depth;
    nodes.length = depth + 1;
    hasEdges.length = depth + 1;
    let fresh = false;
    for (; depth < path.length; depth++) {
      const element = path[depth] as string;
      const node = nodes[depth] as MutableSet;
      let next = node[element];
      if (next === undefined) {
        // A member that gets its first edge must now be marked as a member.
        if (!fresh && depth > 0 && hasEdges[depth] !== true && isEmptySet(node)) node['.'] = member;
        next = {};
        node[element] = next;
        fresh = true;
      }
      hasEdges[depth] = true;
      lastPath.push(element);
      nodes.push(next);
    }
    const last = nodes[depth] as MutableSet;
    if (depth > 0 && !isEmptySet(last)) last['.'] = member;
  }

  /** The finished set; no insertion may follow. */
  get set(): FieldSet {
    return this.#nodes[0] ?? emptySet;
  }
}
/** Maximum nesting of sets from clients. */
const maxDepth = 500;

const index = /^i:-?[0-9]+$/;

/** Whether a name is `.`, `f:…`, `v:…`, `k:{…` or `i:<number>`. Called for every edge of every set that is read. */
function isEdge(name: string): boolean {
  switch (name.charCodeAt(0)) {
    case 0x2e: // .
      return name.length === 1;
    case 0x66: // f
    case 0x76: // v
      return name.charCodeAt(1) === colon;
    case 0x6b: // k
      return name.charCodeAt(1) === colon && name.charCodeAt(2) === 0x7b;
    default:
      return index.test(name);
  }
}
const colon = 0x3a;

/** The form of a value: not a set, an unsorted set, or a sorted set. */
export type SetForm = 'none' | 'unordered' | 'ordered';

export function formOf(value: unknown, depth = 0): SetForm {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth > maxDepth) return 'none';
  let form: SetForm = 'ordered';
  let last = '';
  for (const name in value) {
    if (!isEdge(name)) return 'none';
    if (name < last || name.charCodeAt(0) === indexKind) form = 'unordered';
    last = name;
    const below = formOf((value as Record<string, unknown>)[name], depth + 1);
    if (below !== 'ordered') form = below;
    if (form === 'none') return 'none';
  }
  return form;
}
