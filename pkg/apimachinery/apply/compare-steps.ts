/** The same as `compare` for large objects, in steps that each take some milliseconds. */
import { addedValueSteps } from '#apimachinery/apply/added-fields-steps.js';
import {
  addNulls,
  type Comparison,
  comparedAs,
  comparisonOf,
  type Difference,
  Differences,
  differenceOf,
  inStep,
  isRemade,
  nextMember,
} from '#apimachinery/apply/compare.js';
import { fieldEdge } from '#apimachinery/apply/edges.js';
import { AmbiguousElementError, checkEdge, checkEdges } from '#apimachinery/apply/elements.js';
import { type FieldSet, memberOnly } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  type ElementsStructure,
  elementOf,
  hasNoParts,
  isSilent,
  type JsonObject,
  type Members,
  partStructure,
  type Structure,
  structOf,
} from '#apimachinery/apply/structure.js';
import { StepBudget } from '#apimachinery/async/step-budget.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { checkEntries } from '#apimachinery/codec/json/size-limit.js';
import { isObject, member } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** See `compare`. `partsPerStep`: for tests. */
export function* compareSteps(
  type: TypeInfo,
  left: JsonObject,
  right: JsonObject,
  unseen?: FieldSet,
  partsPerStep?: number,
): Steps<Comparison> {
  const found = new Differences();
  yield* new SteppedComparison(partsPerStep).structs(found, structOf(type, unseen).members, left, right);
  return comparisonOf(found);
}

class SteppedComparison {
  readonly #budget: StepBudget;

  constructor(parts: number | undefined) {
    this.#budget = new StepBudget(parts);
  }

  *structs(found: Differences, members: Members, left: unknown, right: unknown): Steps<void> {
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
      if (old !== next) found.add(declared.edge, yield* this.#difference(old, next, declared.structure));
    }
    if (right === undefined) addNulls(found, members, before);
    for (const name in after) {
      if (Object.hasOwn(before, name)) continue;
      const declared = members.of(name);
      if (isSilent(declared, after[name])) continue;
      found.add(declared.edge, yield* this.#difference(declared.whenEmpty, after[name], declared.structure));
    }
  }

  *#difference(left: unknown, right: unknown, declared: Structure): Steps<Difference | undefined> {
    if (this.#budget.spend(1)) yield;
    const isNew = left === undefined;
    if (isNew || isRemade(declared, left, right)) {
      const touched = yield* addedValueSteps(right, declared, this.#budget);
      const removed = isObject(left) ? (yield* this.#difference(left, null, declared))?.removed : undefined;
      return { touched, removed };
    }
    const structure = comparedAs(declared, left, right);
    if (structure.kind === 'leaf') return differenceOf(left, right, structure);
    if (hasNoParts(left) && hasNoParts(right)) return differenceOf(left, right, structure);
    const found = new Differences();
    switch (structure.kind) {
      case 'struct':
        yield* this.structs(found, structure.members, left, right);
        break;
      case 'map':
        yield* this.#maps(found, structure.element, asObject(left), asObject(right));
        break;
      case 'set':
      case 'list':
        yield* this.#lists(found, structure, asList(left), asList(right));
        break;
    }
    if (right === undefined) return { touched: undefined, removed: { '.': memberOnly, ...found.removed } };
    return found.touched === undefined && found.removed === undefined ? undefined : found;
  }

  *#maps(found: Differences, element: Structure, left: JsonObject, right: JsonObject): Steps<void> {
    for (const name in left) {
      const old = left[name];
      const next = member(right, name);
      if (old !== next) found.add(fieldEdge(name), yield* this.#difference(old, next, element));
      else if (this.#budget.spend(1)) yield;
    }
    let count = 0;
    for (const name in right) {
      checkEntries(++count);
      if (right[name] === undefined || Object.hasOwn(left, name)) continue;
      found.add(fieldEdge(name), yield* this.#difference(undefined, right[name], element));
    }
  }

  *#lists(
    found: Differences,
    structure: ElementsStructure,
    left: readonly unknown[],
    right: readonly unknown[],
  ): Steps<void> {
    const element = partStructure(structure);
    if (inStep(structure, left, right)) {
      for (const [i, old] of left.entries()) {
        if (old === right[i]) continue;
        const difference = yield* this.#difference(old, right[i], element);
        if (difference === undefined) continue;
        const edge = elementOf(structure, old);
        checkEdge(edge);
        found.add(edge, difference);
      }
      return;
    }
    checkEntries(right.length);
    const after = new Map<string, unknown>();
    for (const next of right) {
      if (this.#budget.spend(1)) yield;
      after.set(elementOf(structure, next), next);
    }
    const edges = new Set(after.keys());
    checkEdges([...edges]);
    const before = new Set<string>();
    for (const old of left) {
      const edge = elementOf(structure, old);
      checkEdge(edge);
      before.add(edge);
      const next = after.get(edge);
      after.delete(edge);
      if (old !== next) found.add(edge, yield* this.#difference(old, next, element));
      else if (this.#budget.spend(1)) yield;
    }
    if (edges.size < right.length || before.size < left.length)
      throw new AmbiguousElementError('twice the same element');
    for (const [edge, next] of after) found.add(edge, yield* this.#difference(undefined, next, element));
  }
}
