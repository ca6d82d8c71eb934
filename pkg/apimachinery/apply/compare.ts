/**
 * Compares two versions of an object; the changes are sets of paths. A field that server-side apply treats atomically
 * is compared as a whole. Skips parts that both versions share. Follows structured-merge-diff of release 1.24.
 */

import { emptySet, type FieldSet, inOrder, memberOnly, sorted, unionBelow } from '#apimachinery/apply/field-set.js';
import { AmbiguousElementError, checkEdge, fieldEdge } from '#apimachinery/apply/path-elements.js';
import {
  asList,
  asObject,
  type DefiniteStructure,
  type ElementsStructure,
  elementOf,
  hasNoParts,
  isInsignificantMember,
  type JsonObject,
  type LeafStructure,
  type Member,
  type Members,
  partStructure,
  type Structure,
  sameElement,
  structOf,
  structureFor,
} from '#apimachinery/apply/structure.js';
import { StepBudget, type Steps } from '#apimachinery/async/steps.js';
import { checkEntries } from '#apimachinery/codec/json/size-limit.js';
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { jsonEqual, member } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

type Node = Record<string, FieldSet>;

/** The node of a new value. Adds keys in sorted order: sorting a large node later would double the time. */
function* addedValue(value: unknown, declared: Structure, budget: StepBudget): Steps<FieldSet> {
  const structure = structureFor(declared, value);
  if (structure.kind === 'leaf') return addedLeaf(structure, value);
  if (budget.spend(1)) yield;
  // A new message without other members still has its null members.
  if (structure.kind !== 'struct' && hasNoParts(value)) return memberOnly;
  switch (structure.kind) {
    case 'struct':
      return hasNoParts(value) && !isJsonObject(value)
        ? memberOnly
        : yield* addedMessage(structure.members, asObject(value), budget);
    case 'map':
      return yield* addedMap(structure.element, asObject(value), budget);
    case 'set':
    case 'list':
      return yield* addedList(structure, asList(value), budget);
  }
}

function addedLeaf(structure: DefiniteStructure & { kind: 'leaf' }, value: unknown): FieldSet {
  structure.check?.(value);
  return memberOnly;
}

function* addedMessage(members: Members, object: JsonObject, budget: StepBudget): Steps<FieldSet> {
  const node: Node = { '.': memberOnly };
  let isEmpty = true;
  for (const declared of members.seen) {
    const value = member(object, declared.name);
    if (isInsignificantMember(declared, value)) {
      if (!declared.alwaysThere) continue;
      node[declared.edge] = memberOnly;
    } else {
      const { structure } = declared;
      // Most members are leaves; these need no generator.
      node[declared.edge] =
        structure.kind === 'leaf' ? addedLeaf(structure, value) : yield* addedValue(value, structure, budget);
    }
    isEmpty = false;
  }
  const undeclared = members.undeclared(object);
  for (const name of undeclared) {
    const { edge, structure } = members.of(name);
    node[edge] = yield* addedValue(object[name], structure, budget);
  }
  if (undeclared.length > 0) return inOrder(node);
  return isEmpty ? memberOnly : node;
}

function* addedMap(element: Structure, object: JsonObject, budget: StepBudget): Steps<FieldSet> {
  const names = inAlphabet(object);
  checkEntries(names.length);
  if (budget.spend(names.length)) yield;
  const node: Node = { '.': memberOnly };
  let isEmpty = true;
  for (const name of names) {
    if (object[name] === undefined) continue;
    isEmpty = false;
    if (budget.spend(1)) yield;
    node[fieldEdge(name)] = yield* addedValue(object[name], element, budget);
  }
  return isEmpty ? memberOnly : node;
}

export function inAlphabet(object: JsonObject): readonly string[] {
  const names = Object.keys(object);
  for (let i = 1; i < names.length; i++) if ((names[i] as string) < (names[i - 1] as string)) return names.sort();
  return names;
}

/** The elements of a list by their path elements. Throws an AmbiguousElementError if two are equal. */
function* elementsByEdge(
  structure: ElementsStructure,
  list: readonly unknown[],
  budget: StepBudget,
): Steps<Map<string, unknown>> {
  const byEdge = new Map<string, unknown>();
  for (const part of list) {
    if (budget.spend(1)) yield;
    const edge = elementOf(structure, part);
    checkEdge(edge);
    byEdge.set(edge, part);
  }
  if (byEdge.size < list.length) throw new AmbiguousElementError('an element is there twice');
  return byEdge;
}

function* addedList(structure: ElementsStructure, list: readonly unknown[], budget: StepBudget): Steps<FieldSet> {
  if (list.length === 0) return memberOnly;
  const element = partStructure(structure);
  checkEntries(list.length);
  const byEdge = yield* elementsByEdge(structure, list, budget);
  const edges = [...byEdge.keys()].sort();
  const node: Node = { '.': memberOnly };
  for (const edge of edges) {
    if (budget.spend(1)) yield;
    node[edge] = yield* addedValue(byEdge.get(edge), element, budget);
  }
  return node;
}

export interface Comparison {
  /** Paths that are new or have another value. */
  readonly touched: FieldSet;
  readonly removed: FieldSet;
  readonly isSame: boolean;
}

/** The changes at and below a value; undefined without changes. */
interface Difference {
  readonly touched: FieldSet | undefined;
  readonly removed: FieldSet | undefined;
}

/** The path is new or has another value. */
const touched: Difference = { touched: memberOnly, removed: undefined };
const gone: Difference = { touched: undefined, removed: memberOnly };

/** The changes of the parts of a value. Nodes are created on demand, because most values have none. */
class Differences {
  touched: Node | undefined;
  removed: Node | undefined;

  add(edge: string, difference: Difference | undefined): void {
    if (difference === undefined) return;
    const { touched, removed } = difference;
    if (touched !== undefined) this.touched = withEdge(this.touched, edge, touched);
    if (removed !== undefined) this.removed = withEdge(this.removed, edge, removed);
  }
}

/** List elements without distinct keys share a path element. */
function withEdge(node: Node = {}, edge: string, child: FieldSet): Node {
  const previous = node[edge];
  node[edge] = previous === undefined ? child : unionBelow(previous, child);
  return node;
}

/**
 * Compares two objects of the type and skips `unseen` (see `structOf`). Each step takes a few milliseconds; tests set
 * `parts`, the size of one step. Throws an AmbiguousElementError for lists with equal elements.
 */
export function* compare(
  type: TypeInfo,
  left: JsonObject,
  right: JsonObject,
  unseen?: FieldSet,
  parts?: number,
): Steps<Comparison> {
  const all = new Differences();
  yield* new Comparer(parts).messages(all, structOf(type, unseen).members, left, right);
  const { touched = emptySet, removed = emptySet } = all;
  return { touched, removed, isSame: touched === emptySet && removed === emptySet };
}

/** The paths of a new object, in order; otherwise like `compare`. */
export function* addedFields(type: TypeInfo, object: unknown, unseen?: FieldSet, parts?: number): Steps<FieldSet> {
  const { touched } = yield* compare(type, {}, asObject(object), unseen, parts);
  yield;
  return sorted(touched);
}

function leafDifference(leaf: LeafStructure, left: unknown, right: unknown): Difference | undefined {
  if (right === undefined) return gone;
  leaf.check?.(right);
  return left !== undefined && jsonEqual(left, right) ? undefined : touched;
}

class Comparer {
  readonly #budget: StepBudget;

  constructor(parts: number | undefined) {
    this.#budget = new StepBudget(parts);
  }

  *messages(all: Differences, members: Members, left: unknown, right: unknown): Steps<void> {
    const before = asObject(left);
    const after = asObject(right);
    for (const declared of members.seen) {
      const old = member(before, declared.name);
      const next = member(after, declared.name);
      if (right === undefined && old === undefined && declared.alwaysThere) all.add(declared.edge, gone);
      if (old !== next) yield* this.#member(all, declared, [old, next], right === undefined);
    }
    for (const name of members.undeclared(before)) {
      const [old, next] = [before[name], member(after, name)];
      if (old !== next) yield* this.#member(all, members.of(name), [old, next], right === undefined);
    }
    for (const name of members.undeclared(after)) {
      if (!Object.hasOwn(before, name))
        yield* this.#member(all, members.of(name), [undefined, after[name]], right === undefined);
    }
  }

  /** `isGone`: the parent message is removed; otherwise an absent member counts as empty. */
  *#member(
    all: Differences,
    declared: Member,
    [old, next]: readonly [old: unknown, next: unknown],
    isGone: boolean,
  ): Steps<void> {
    const { whenEmpty, structure, edge } = declared;
    if (next === undefined && isInsignificantMember(declared, old)) return;
    if (old === undefined && isInsignificantMember(declared, next)) return;
    const left = old === undefined ? whenEmpty : old;
    const right = next === undefined && !isGone ? whenEmpty : next;
    if (left === right) return;
    // Most members are leaves; these need no further steps.
    all.add(
      edge,
      structure.kind === 'leaf'
        ? leafDifference(structure, left, right)
        : yield* this.#difference(left, right, structure),
    );
  }

  /** Expects `left !== right`. */
  *#difference(left: unknown, right: unknown, declared: Structure): Steps<Difference | undefined> {
    if (this.#budget.spend(1)) yield;
    if (left === undefined) return { touched: yield* addedValue(right, declared, this.#budget), removed: undefined };
    if (isReplaced(declared, left, right)) {
      const touched = yield* addedValue(right, declared, this.#budget);
      const removed = isJsonObject(left) ? (yield* this.#difference(left, null, declared))?.removed : undefined;
      return { touched, removed };
    }
    const structure = comparedAs(declared, left, right);
    if (structure.kind === 'leaf') return leafDifference(structure, left, right);
    if (hasNoParts(left) && hasNoParts(right)) {
      // A message without other members takes its null members with it.
      if (right === undefined) {
        const isMessage = structure.kind === 'struct' && isJsonObject(left);
        const removed = isMessage ? yield* addedValue(left, structure, this.#budget) : memberOnly;
        return { touched: undefined, removed };
      }
      return jsonEqual(left, right) ? undefined : touched;
    }
    const parts = new Differences();
    switch (structure.kind) {
      case 'struct':
        yield* this.messages(parts, structure.members, left, right);
        break;
      case 'map':
        yield* this.#maps(parts, structure.element, asObject(left), asObject(right));
        break;
      case 'set':
      case 'list':
        yield* this.#lists(parts, structure, asList(left), asList(right));
        break;
    }
    if (right === undefined) return { touched: undefined, removed: { '.': memberOnly, ...parts.removed } };
    return parts.touched === undefined && parts.removed === undefined ? undefined : parts;
  }

  *#maps(all: Differences, element: Structure, left: JsonObject, right: JsonObject): Steps<void> {
    for (const name in left) {
      const old = left[name];
      const next = member(right, name);
      if (old !== next) all.add(fieldEdge(name), yield* this.#difference(old, next, element));
      else if (this.#budget.spend(1)) yield;
    }
    let count = 0;
    for (const name in right) {
      checkEntries(++count);
      if (right[name] === undefined || Object.hasOwn(left, name)) continue;
      all.add(fieldEdge(name), yield* this.#difference(undefined, right[name], element));
    }
  }

  *#lists(all: Differences, structure: ElementsStructure, left: List, right: List): Steps<void> {
    const element = partStructure(structure);
    if (haveSameElements(structure, left, right)) {
      for (const [i, old] of left.entries()) {
        if (old === right[i]) continue;
        const difference = yield* this.#difference(old, right[i], element);
        if (difference === undefined) continue;
        const edge = elementOf(structure, old);
        checkEdge(edge);
        all.add(edge, difference);
      }
      return;
    }
    checkEntries(right.length);
    const before = yield* elementsByEdge(structure, left, this.#budget);
    const after = yield* elementsByEdge(structure, right, this.#budget);
    for (const [edge, old] of before) {
      const next = after.get(edge);
      after.delete(edge);
      if (old !== next) all.add(edge, yield* this.#difference(old, next, element));
      else if (this.#budget.spend(1)) yield;
    }
    for (const [edge, next] of after) all.add(edge, yield* this.#difference(undefined, next, element));
  }
}

type List = readonly unknown[];

/** The structure for both values. For deduced types, null next to an object counts as an empty object. */
function comparedAs(declared: Structure, left: unknown, right: unknown): DefiniteStructure {
  if (declared.kind !== 'deduced') return declared;
  const [value, other] = isJsonObject(left) ? [left, right] : [right, left];
  return structureFor(declared, isJsonObject(other) || (other ?? null) === null ? value : undefined);
}

/** For deduced types: whether an object with members replaced another kind of value, or vice versa. */
function isReplaced(declared: Structure, left: unknown, right: unknown): boolean {
  if (declared.kind !== 'deduced' || (left ?? null) === null || (right ?? null) === null) return false;
  return isJsonObject(left) ? !isJsonObject(right) && !hasNoParts(left) : isJsonObject(right) && !hasNoParts(right);
}

/** Longer lists are compared by path elements. */
const maxInStep = 16;

/** Whether two short lists have the same distinct elements in the same order, as most do. */
function haveSameElements(structure: ElementsStructure, left: List, right: List): boolean {
  if (left.length !== right.length || left.length > maxInStep) return false;
  for (let i = 0; i < left.length; i++) {
    if (!sameElement(structure, left[i], right[i])) return false;
    for (let j = 0; j < i; j++) if (sameElement(structure, left[i], left[j])) return false;
  }
  return true;
}
