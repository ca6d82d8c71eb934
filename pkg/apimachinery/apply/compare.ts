/**
 * What changed between two versions of an object, as sets of paths. What one piece is to server-side apply is compared
 * as a whole. Rules of structured-merge-diff as of release 1.24. Parts that both versions share are not looked at.
 */

import { addedValue } from '#apimachinery/apply/added-fields.js';
import { fieldEdge } from '#apimachinery/apply/edges.js';
import { checkEdge, checkEdges } from '#apimachinery/apply/elements.js';
import { emptySet, type FieldSet, memberOnly, unionBelow } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  type DefiniteStructure,
  type ElementsStructure,
  elementOf,
  hasNoParts,
  isSilent,
  type JsonObject,
  type Member,
  type Members,
  partStructure,
  type Structure,
  sameElement,
  structOf,
  structureFor,
} from '#apimachinery/apply/structure.js';
import { checkEntries } from '#apimachinery/codec/json/size-limit.js';
import { isObject, jsonEqual, member } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

export interface Comparison {
  /** What is new or has another value. */
  readonly touched: FieldSet;
  readonly removed: FieldSet;
  readonly isSame: boolean;
}

/** What has changed at and below a value, undefined when nothing has. */
export interface Difference {
  readonly touched: FieldSet | undefined;
  readonly removed: FieldSet | undefined;
}

const modified: Difference = { touched: memberOnly, removed: undefined };
const gone: Difference = { touched: undefined, removed: memberOnly };

type Node = Record<string, FieldSet>;

/** Of the parts of a value: made when they are found, since most have none. */
export class Differences {
  touched: Node | undefined;
  removed: Node | undefined;

  add(edge: string, difference: Difference | undefined): void {
    if (difference === undefined) return;
    const { touched, removed } = difference;
    if (touched !== undefined) this.touched = withEdge(this.touched, edge, touched);
    if (removed !== undefined) this.removed = withEdge(this.removed, edge, removed);
  }
}

/** Elements of a list that nothing tells apart share an edge. */
function withEdge(node: Node = {}, edge: string, child: FieldSet): Node {
  const known = node[edge];
  node[edge] = known === undefined ? child : unionBelow(known, child);
  return node;
}

/** `left` is not `right`. */
export function differenceOf(left: unknown, right: unknown, declared: Structure): Difference | undefined {
  if (left === undefined) return { touched: addedValue(right, declared), removed: undefined };
  if (isRemade(declared, left, right)) return remade(declared, left, right);
  const structure = comparedAs(declared, left, right);
  if (structure.kind === 'leaf' || (hasNoParts(left) && hasNoParts(right))) {
    if (right === undefined) return { touched: undefined, removed: goneValue(left, structure) };
    if (structure.kind === 'leaf') structure.check?.(right);
    return jsonEqual(left, right) ? undefined : modified;
  }
  const found = new Differences();
  switch (structure.kind) {
    case 'struct':
      compareStructs(found, structure.members, left, right);
      break;
    case 'map':
      compareMaps(found, structure.element, asObject(left), asObject(right));
      break;
    case 'set':
    case 'list':
      compareLists(found, structure, asList(left), asList(right));
      break;
  }
  if (right === undefined) return { touched: undefined, removed: { '.': memberOnly, ...found.removed } };
  return found.touched === undefined && found.removed === undefined ? undefined : found;
}

/** The fields of a value without parts: of a message its nulls. */
function goneValue(value: unknown, structure: DefiniteStructure): FieldSet {
  return structure.kind === 'struct' && isObject(value) ? addedValue(value, structure) : memberOnly;
}

/** What both are compared as: where types are deduced, null is an object without members to another object. */
export function comparedAs(declared: Structure, left: unknown, right: unknown): DefiniteStructure {
  if (declared.kind !== 'deduced') return declared;
  const [value, other] = isObject(left) ? [left, right] : [right, left];
  return structureFor(declared, isObject(other) || (other ?? null) === null ? value : undefined);
}

/** Where types are deduced: whether an object with members has taken the place of something else, or the other way. */
export function isRemade(declared: Structure, left: unknown, right: unknown): boolean {
  if (declared.kind !== 'deduced' || (left ?? null) === null || (right ?? null) === null) return false;
  return isObject(left) ? !isObject(right) && !hasNoParts(left) : isObject(right) && !hasNoParts(right);
}

/** The value itself is another one then, and the members of the object are new or gone. */
function remade(declared: Structure, left: unknown, right: unknown): Difference {
  return {
    touched: addedValue(right, declared),
    removed: isObject(left) ? differenceOf(left, null, declared)?.removed : undefined,
  };
}

function compareStructs(found: Differences, members: Members, left: unknown, right: unknown): void {
  const before = asObject(left);
  const after = asObject(right);
  for (const name in before) {
    const old = before[name];
    if (old === after[name]) continue;
    const declared = members.of(name);
    if (declared.unseen) continue;
    const given = member(after, name);
    if (given === undefined && isSilent(declared, old)) continue;
    const next = nextMember(declared, given, right);
    if (old !== next) found.add(declared.edge, differenceOf(old, next, declared.structure));
  }
  if (right === undefined) addNulls(found, members, before);
  for (const name in after) {
    if (Object.hasOwn(before, name)) continue;
    const declared = members.of(name);
    const next = after[name];
    if (!isSilent(declared, next)) found.add(declared.edge, differenceOf(declared.whenEmpty, next, declared.structure));
  }
}

/** With a message its nulls are gone. */
export function addNulls(found: Differences, members: Members, before: JsonObject): void {
  for (const [name, edge] of members.alwaysThere) if (before[name] === undefined) found.add(edge, gone);
}

/** What a member becomes that was there before: where the message itself stays, it is empty rather than gone. */
export function nextMember({ whenEmpty }: Member, given: unknown, owner: unknown): unknown {
  return given === undefined && owner !== undefined ? whenEmpty : given;
}

function compareMaps(found: Differences, element: Structure, left: JsonObject, right: JsonObject): void {
  let count = 0;
  for (const name in left) {
    const old = left[name];
    if (old !== right[name]) found.add(fieldEdge(name), differenceOf(old, member(right, name), element));
  }
  for (const name in right) {
    checkEntries(++count);
    if (right[name] === undefined || Object.hasOwn(left, name)) continue;
    found.add(fieldEdge(name), differenceOf(undefined, right[name], element));
  }
}

type List = readonly unknown[];

function compareLists(found: Differences, structure: ElementsStructure, left: List, right: List): void {
  const element = partStructure(structure);
  if (inStep(structure, left, right)) {
    for (let i = 0; i < left.length; i++) {
      if (left[i] === right[i]) continue;
      const difference = differenceOf(left[i], right[i], element);
      if (difference === undefined) continue;
      const edge = elementOf(structure, left[i]);
      checkEdge(edge);
      found.add(edge, difference);
    }
    return;
  }
  checkEntries(right.length);
  const edges = left.map((value) => elementOf(structure, value));
  checkEdges(edges);
  const others = right.map((value) => elementOf(structure, value));
  checkEdges(others);
  const after = new Map(right.map((value, i) => [others[i] as string, value]));
  for (const [i, old] of left.entries()) {
    const edge = edges[i] as string;
    const next = after.get(edge);
    after.delete(edge);
    if (old !== next) found.add(edge, differenceOf(old, next, element));
  }
  for (const [edge, next] of after) found.add(edge, differenceOf(undefined, next, element));
}

/** Longer lists are compared by their edges. */
const maxInStep = 16;

/** Whether two short lists name the same elements, each once, in the same order: true of most. */
export function inStep(structure: ElementsStructure, left: List, right: List): boolean {
  if (left.length !== right.length || left.length > maxInStep) return false;
  for (let i = 0; i < left.length; i++) {
    if (!sameElement(structure, left[i], right[i])) return false;
    for (let j = 0; j < i; j++) if (sameElement(structure, left[i], left[j])) return false;
  }
  return true;
}

/** Compares two objects of the type; `unseen` is passed over, see `structOf`. */
export function compare(type: TypeInfo, left: JsonObject, right: JsonObject, unseen?: FieldSet): Comparison {
  const found = new Differences();
  compareStructs(found, structOf(type, unseen).members, left, right);
  return comparisonOf(found);
}

/** Of whole objects. */
export function comparisonOf({ touched = emptySet, removed = emptySet }: Differences): Comparison {
  return { touched, removed, isSame: touched === emptySet && removed === emptySet };
}
