/** The paths of an applied configuration. */
import { inAlphabet } from '#apimachinery/apply/compare.js';
import { type FieldSet, FieldSetBuilder } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  type DefiniteStructure,
  type ElementsStructure,
  elementOf,
  hasNoParts,
  memberStructure,
  partStructure,
  type Structure,
  structureFor,
} from '#apimachinery/apply/structure.js';
import { StepBudget, type Steps } from '#apimachinery/async/steps.js';
import { checkEntries } from '#apimachinery/codec/json/size-limit.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** Visits large maps and lists in the order of edges; sorting the set afterwards would double the time. */
class Collector {
  readonly builder = new FieldSetBuilder();
  readonly #path: string[] = [];
  readonly #budget: StepBudget;

  constructor(parts: number | undefined) {
    this.#budget = new StepBudget(parts);
  }

  *#below(element: string, value: unknown, declared: Structure, isPart: boolean): Steps<void> {
    const structure = structureFor(declared, value);
    if (this.#budget.spend(1)) yield;
    this.#path.push(element);
    if (structure.kind === 'leaf') this.builder.insert(this.#path);
    else yield* this.#value(value, structure);
    if (isPart || (typeof value === 'object' && !Array.isArray(value) && hasNoParts(value)))
      this.builder.insert(this.#path);
    this.#path.pop();
  }

  *#value(value: unknown, structure: Exclude<DefiniteStructure, { kind: 'leaf' }>): Steps<void> {
    switch (structure.kind) {
      case 'struct':
        yield* this.struct(structure.type, value);
        return;
      case 'map': {
        const element = structure.element;
        const object = asObject(value);
        const names = inAlphabet(object);
        checkEntries(names.length);
        yield;
        for (const name of names) yield* this.#below(`f:${name}`, object[name], element, true);
        return;
      }
      case 'set':
      case 'list':
        yield* this.#list(structure, asList(value));
        return;
    }
  }

  *struct(type: TypeInfo, value: unknown): Steps<void> {
    for (const [name, part] of Object.entries(asObject(value))) {
      yield* this.#below(`f:${name}`, part, memberStructure(type, name), !type.byName.has(name));
    }
  }

  *#list(structure: ElementsStructure, list: readonly unknown[]): Steps<void> {
    const element = partStructure(structure);
    checkEntries(list.length);
    const parts: { readonly edge: string; readonly part: unknown }[] = [];
    for (const part of list) {
      if (this.#budget.spend(1)) yield;
      parts.push({ edge: elementOf(structure, part), part });
    }
    parts.sort((a, b) => (a.edge < b.edge ? -1 : a.edge > b.edge ? 1 : 0));
    for (const { edge, part } of parts) yield* this.#below(edge, part, element, true);
  }
}

/**
 * The set of all paths of an object of the type, including members of lists and maps. Each step takes a few
 * milliseconds; tests set `parts`, the size of one step.
 */
export function* fieldsOf(type: TypeInfo, object: unknown, parts?: number): Steps<FieldSet> {
  const collector = new Collector(parts);
  yield* collector.struct(type, object);
  return collector.builder.set;
}
