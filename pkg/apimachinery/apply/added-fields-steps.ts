/** The same as `addedFields` for large objects, in steps that each take some milliseconds. */
import { addedValue, inAlphabet, nodeOf, structNode } from '#apimachinery/apply/added-fields.js';
import { fieldEdge } from '#apimachinery/apply/edges.js';
import { AmbiguousElementError, checkEdges } from '#apimachinery/apply/elements.js';
import { emptySet, type FieldSet, memberOnly } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  type ElementsStructure,
  elementOf,
  type JsonObject,
  type Members,
  partStructure,
  type Structure,
  structOf,
  structureFor,
} from '#apimachinery/apply/structure.js';
import { partsPerStep, StepBudget } from '#apimachinery/async/step-budget.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { checkEntries } from '#apimachinery/codec/json/size-limit.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

export interface StepSizes {
  /** Values of fewer parts are worked on at once. */
  readonly largeParts: number;
  readonly partsPerStep: number;
}

const usualSizes: StepSizes = { largeParts: 1000, partsPerStep };

/** See `addedFields`. */
export function* addedFieldsSteps(
  type: TypeInfo,
  object: unknown,
  unseen?: FieldSet,
  sizes = usualSizes,
): Steps<FieldSet> {
  const { members } = structOf(type, unseen);
  const large = new LargeValues(object, sizes.largeParts, new StepBudget(sizes.partsPerStep));
  yield;
  yield* large.members(members, asObject(object), false);
  return structNode(members, asObject(object), false, large.nodes) ?? emptySet;
}

/** See `addedValue`. */
export function* addedValueSteps(value: unknown, structure: Structure, budget: StepBudget): Steps<FieldSet> {
  if (typeof value !== 'object' || value === null) return addedValue(value, structure);
  const large = new LargeValues(value, usualSizes.largeParts, budget);
  yield;
  return yield* large.element(value, structure);
}

type Node = Record<string, FieldSet>;

/** The nodes of an object's large values, the inner ones first. */
class LargeValues {
  readonly nodes = new Map<unknown, FieldSet | undefined>();
  readonly #largeParts: number;
  readonly #budget: StepBudget;
  /** Found out once: even to see that a map is large takes as long as it is large. */
  readonly #large = new Set<unknown>();

  constructor(object: unknown, largeParts: number, budget: StepBudget) {
    this.#largeParts = largeParts;
    this.#budget = budget;
    this.#count(object);
  }

  /** How many values a value has in it. */
  #count(value: unknown): number {
    if (typeof value !== 'object' || value === null) return 0;
    let parts = 0;
    if (Array.isArray(value)) for (const part of value) parts += 1 + this.#count(part);
    else for (const name in value) parts += 1 + this.#count((value as JsonObject)[name]);
    if (parts >= this.#largeParts) this.#large.add(value);
    return parts;
  }

  *members(members: Members, object: JsonObject, isNew: boolean): Steps<void> {
    for (const name in object) {
      const value = object[name];
      if (!this.#large.has(value)) continue;
      const member = members.of(name);
      // What is large says something: to ask it would take as long as it is large.
      if (member.unseen) continue;
      const before = isNew ? undefined : member.whenEmpty;
      this.nodes.set(value, yield* this.#node(value, member.structure, before));
    }
  }

  *#node(value: unknown, declared: Structure, before: unknown): Steps<FieldSet | undefined> {
    const structure = structureFor(declared, value);
    if (structure.kind === 'leaf') return nodeOf(value, structure, before);
    const isNew = before === undefined;
    if (structure.kind === 'struct') {
      yield* this.members(structure.members, asObject(value), isNew);
      return structNode(structure.members, asObject(value), isNew, this.nodes);
    }
    const node: Node = isNew ? { '.': memberOnly } : {};
    yield* structure.kind === 'map'
      ? this.#map(node, structure.element, asObject(value))
      : this.#list(node, structure, asList(value));
    return node;
  }

  *#map(node: Node, element: Structure, object: JsonObject): Steps<void> {
    const names = inAlphabet(object);
    checkEntries(names.length);
    yield;
    for (const name of names) {
      if (object[name] === undefined) continue;
      node[fieldEdge(name)] = yield* this.element(object[name], element);
    }
  }

  /** Edges are put in once, and in order: to put many in order afterwards takes as long again. */
  *#list(node: Node, structure: ElementsStructure, list: readonly unknown[]): Steps<void> {
    const element = partStructure(structure);
    checkEntries(list.length);
    const byEdge = new Map<string, unknown>();
    for (const part of list) {
      byEdge.set(elementOf(structure, part), part);
      if (this.#budget.spend(1)) yield;
    }
    const edges = [...byEdge.keys()].sort();
    if (edges.length < list.length) throw new AmbiguousElementError('an element is there twice');
    checkEdges(edges);
    yield;
    for (const edge of edges) node[edge] = yield* this.element(byEdge.get(edge), element);
  }

  *element(value: unknown, structure: Structure): Steps<FieldSet> {
    const isLarge = this.#large.has(value);
    if (this.#budget.spend(isLarge ? 1 : 1 + partsOf(value))) yield;
    if (!isLarge) return addedValue(value, structure);
    return (yield* this.#node(value, structure, undefined)) ?? memberOnly;
  }
}

/** How many values a small one has in it. */
function partsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let parts = 0;
  for (const name in value) parts += 1 + partsOf((value as JsonObject)[name]);
  return parts;
}
