/** The fields of a value that was not there before. */
import { AmbiguousElementError, checkEdge, fieldEdge } from '#apimachinery/apply/edges.js';
import { type FieldSet, inOrder, memberOnly } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  type DefiniteStructure,
  type ElementsStructure,
  elementOf,
  hasNoParts,
  isSilent,
  type JsonObject,
  type Members,
  partStructure,
  type Structure,
  structureFor,
} from '#apimachinery/apply/structure.js';
import type { StepBudget, Steps } from '#apimachinery/async/steps.js';
import { checkEntries } from '#apimachinery/codec/json/size-limit.js';
import { isObject, member } from '#apimachinery/patch/json-values.js';

type Node = Record<string, FieldSet>;

/** The node of a value that was not there before. Maps and lists are in order: to sort a large one later takes as long again. */
export function* addedValue(value: unknown, declared: Structure, budget: StepBudget): Steps<FieldSet> {
  const structure = structureFor(declared, value);
  if (structure.kind === 'leaf') return addedLeaf(structure, value);
  if (budget.spend(1)) yield;
  // A new message has its nulls, if nothing else.
  if (structure.kind !== 'struct' && hasNoParts(value)) return memberOnly;
  switch (structure.kind) {
    case 'struct':
      return hasNoParts(value) && !isObject(value)
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
    if (isSilent(declared, value)) {
      if (!declared.alwaysThere) continue;
      node[declared.edge] = memberOnly;
    } else {
      const { structure } = declared;
      // Most members are leaves, which need no generator.
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

/** The elements of a list by their edges. Throws an AmbiguousElementError where these do not tell them apart. */
export function* elementsByEdge(
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
