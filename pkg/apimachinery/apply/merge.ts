/** Merges an applied configuration into a live object and removes fields that no manager wants any more. */

import { at, type FieldSet, isMember } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  type DefiniteStructure,
  type ElementsStructure,
  elementOf,
  hasNoParts,
  type JsonObject,
  memberStructure,
  partStructure,
  type Structure,
  structureFor,
} from '#apimachinery/apply/structure.js';
import { StepBudget, type Steps } from '#apimachinery/async/steps.js';
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/**
 * The live object with the applied values. List elements follow the applied order; other elements keep their place
 * between them (structured-merge-diff v4.2.3, `visitListItems`). `parts` is the size of a step, for tests.
 */
export function mergeSteps(type: TypeInfo, live: JsonObject, applied: JsonObject, parts?: number): Steps<JsonObject> {
  return new Merge(parts).message(type, live, applied);
}

class Merge {
  readonly #budget: StepBudget;

  constructor(parts: number | undefined) {
    this.#budget = new StepBudget(parts);
  }

  message(type: TypeInfo, live: JsonObject, applied: JsonObject): Steps<JsonObject> {
    return this.#members(live, applied, (name) => memberStructure(type, name));
  }

  *#members(live: JsonObject, applied: JsonObject, structure: (name: string) => Structure): Steps<JsonObject> {
    const result: Record<string, unknown> = {};
    for (const name in live) {
      if (this.#budget.spend(1)) yield;
      setMember(result, name, live[name]);
    }
    for (const name in applied) {
      if (this.#budget.spend(1)) yield;
      const old = Object.hasOwn(live, name) ? live[name] : undefined;
      const value = applied[name];
      const memberType = structure(name);
      setMember(result, name, old === undefined ? value : yield* this.#value(old, value, memberType));
    }
    return result;
  }

  *#value(live: unknown, applied: unknown, declared: Structure): Steps<unknown> {
    // Null and empty remain distinct.
    if (hasNoParts(live) && hasNoParts(applied)) return applied;
    const structure = mergedAs(declared, live, applied);
    switch (structure.kind) {
      case 'leaf':
        return applied;
      case 'struct':
        return yield* this.message(structure.type, asObject(live), asObject(applied));
      case 'map': {
        const element = structure.element;
        return yield* this.#members(asObject(live), asObject(applied), () => element);
      }
      case 'set':
      case 'list':
        return yield* this.#list(asList(live), asList(applied), structure);
    }
  }

  *#list(live: readonly unknown[], applied: readonly unknown[], structure: ElementsStructure): Steps<unknown[]> {
    const before = yield* this.#byEdge(live, structure);
    const appliedElements = yield* this.#byEdge(applied, structure);
    const [left, right] = [[...before.keys()], [...appliedElements.keys()]];
    const shared = right.filter((edge) => before.has(edge))[Symbol.iterator]();
    let next = shared.next().value;
    const merged: unknown[] = [];
    for (let i = 0, j = 0; i < left.length || j < right.length; ) {
      if (this.#budget.spend(1)) yield;
      const [old, edge] = [left[i], right[j]];
      if (old !== undefined && edge !== undefined && old !== edge && appliedElements.has(old) && next !== old) {
        // This element follows later, at its applied position.
        i++;
      } else if (old !== undefined && !appliedElements.has(old)) {
        merged.push(before.get(old));
        i++;
      } else if (edge !== undefined) {
        const value = before.get(edge);
        const other = appliedElements.get(edge);
        merged.push(value === undefined ? other : yield* this.#value(value, other, partStructure(structure)));
        if (old === edge) i++;
        j++;
        if (old === edge || next === edge) next = shared.next().value;
      } else i++;
    }
    return merged;
  }

  *#byEdge(list: readonly unknown[], structure: ElementsStructure): Steps<Map<string, unknown>> {
    const elements = new Map<string, unknown>();
    for (const value of list) {
      if (this.#budget.spend(1)) yield;
      const edge = elementOf(structure, value);
      // Of elements with equal keys the first one counts.
      if (!elements.has(edge)) elements.set(edge, value);
    }
    return elements;
  }
}

/** For deduced types, two objects are merged, and an applied null leaves a live object with members unchanged. */
function mergedAs(declared: Structure, live: unknown, applied: unknown): DefiniteStructure {
  if (declared.kind !== 'deduced') return declared;
  const areMerged = !hasNoParts(live) && (applied === null || isJsonObject(applied));
  return structureFor(declared, areMerged ? live : undefined);
}

/**
 * Removes fields in `last` (the manager's previous configuration) that are not in `kept` (the fields of all managers
 * now). A field is removed with its whole value; an element of a list or map is removed unless it is itself in `kept`.
 */
export function prune(type: TypeInfo, object: JsonObject, last: FieldSet, kept: FieldSet): JsonObject {
  return pruneMembers(object, { last, kept, keep: [] }, fieldsIn(type));
}

interface PruneContext {
  readonly last: FieldSet | undefined;
  readonly kept: FieldSet | undefined;
  /** Members that are never removed: the keys of a list element. */
  readonly keep: readonly string[];
}

interface PrunedMember {
  readonly structure: Structure;
  /** An entry of a map rather than a field. */
  readonly isElement: boolean;
}

type MemberOf = (name: string) => PrunedMember;

/** Undeclared members count as map entries: a type that preserves them is also a map. */
function fieldsIn(type: TypeInfo): MemberOf {
  return (name) => ({ structure: memberStructure(type, name), isElement: !type.byName.has(name) });
}

function pruneMembers(object: JsonObject, { last, kept, keep }: PruneContext, memberOf: MemberOf): JsonObject {
  let result: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(object)) {
    const lastBelow = at(last, `f:${name}`);
    if (lastBelow === undefined || keep.includes(name)) continue;
    const keptBelow = at(kept, `f:${name}`);
    const { structure, isElement } = memberOf(name);
    const stays = isElement ? isMember(keptBelow) || !isMember(lastBelow) : keptBelow !== undefined;
    const next = stays ? pruneValue(value, lastBelow, keptBelow, structure) : undefined;
    if (next === value) continue;
    result ??= { ...object };
    if (next === undefined) delete result[name];
    else setMember(result, name, next);
  }
  return result ?? object;
}

function pruneValue(value: unknown, last: FieldSet, kept: FieldSet | undefined, declared: Structure): unknown {
  if (hasNoParts(value)) return value;
  const structure = structureFor(declared, value);
  switch (structure.kind) {
    case 'leaf':
      return value;
    case 'struct':
      return pruneMembers(asObject(value), { last, kept, keep: [] }, fieldsIn(structure.type));
    case 'map': {
      const member: PrunedMember = { structure: structure.element, isElement: true };
      const left = pruneMembers(asObject(value), { last, kept, keep: [] }, () => member);
      // The value that structured-merge-diff leaves. With a schema, 1.24 later rejects that null.
      return declared.kind === 'deduced' && hasNoParts(left) && !hasNoParts(value) ? null : left;
    }
    case 'set':
    case 'list':
      return pruneList(asList(value), last, kept, structure);
  }
}

function pruneList(
  list: readonly unknown[],
  last: FieldSet,
  kept: FieldSet | undefined,
  structure: ElementsStructure,
): readonly unknown[] {
  const result: unknown[] = [];
  let changed = false;
  for (const value of list) {
    const key = elementOf(structure, value);
    const lastBelow = at(last, key);
    const keptBelow = at(kept, key);
    if (lastBelow !== undefined && isMember(lastBelow) && !isMember(keptBelow)) {
      changed = true;
      continue;
    }
    const next =
      lastBelow === undefined || structure.kind !== 'list' || structure.element.kind === 'leaf'
        ? value
        : pruneMembers(
            asObject(value),
            { last: lastBelow, kept: keptBelow, keep: structure.keys },
            fieldsIn(structure.type),
          );
    if (next !== value) changed = true;
    result.push(next);
  }
  return changed ? result : list;
}
