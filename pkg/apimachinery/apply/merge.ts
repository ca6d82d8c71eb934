/** Lays an applied configuration over a live object, and takes out what nobody wants any more. */

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
 * The live object with the applied values; elements of lists come in the order in which they are applied, between them those
 * that are not (structured-merge-diff v4.2.3, `visitListItems`). In steps that each take some milliseconds; `parts`: of one step, for tests.
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
      const of = structure(name);
      setMember(result, name, old === undefined ? value : yield* this.#value(old, value, of));
    }
    return result;
  }

  *#value(live: unknown, applied: unknown, declared: Structure): Steps<unknown> {
    // Null and empty stay apart.
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
    const wanted = yield* this.#byEdge(applied, structure);
    const [left, right] = [[...before.keys()], [...wanted.keys()]];
    const shared = right.filter((edge) => before.has(edge))[Symbol.iterator]();
    let next = shared.next().value;
    const merged: unknown[] = [];
    for (let i = 0, j = 0; i < left.length || j < right.length; ) {
      if (this.#budget.spend(1)) yield;
      const [old, edge] = [left[i], right[j]];
      if (old !== undefined && edge !== undefined && old !== edge && wanted.has(old) && next !== old) {
        // It comes later, where it is applied.
        i++;
      } else if (old !== undefined && !wanted.has(old)) {
        merged.push(before.get(old));
        i++;
      } else if (edge !== undefined) {
        const value = before.get(edge);
        const other = wanted.get(edge);
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
      // Of elements that nothing tells apart the first one counts.
      if (!elements.has(edge)) elements.set(edge, value);
    }
    return elements;
  }
}

/** Where types are deduced, two objects are merged, and an applied null leaves an object with members as it is. */
function mergedAs(declared: Structure, live: unknown, applied: unknown): DefiniteStructure {
  if (declared.kind !== 'deduced') return declared;
  const areMerged = !hasNoParts(live) && (applied === null || isJsonObject(applied));
  return structureFor(declared, areMerged ? live : undefined);
}

/**
 * Takes out what is in `last` (what the applier applied before) and that nothing in `kept` (what anybody manages now)
 * needs. A field goes with all that is in it; an element of a list or a map goes unless it is itself in `kept`.
 */
export function prune(type: TypeInfo, object: JsonObject, last: FieldSet, kept: FieldSet): JsonObject {
  return pruneMembers(object, { last, kept, keep: [] }, fieldsIn(type));
}

interface PruneContext {
  readonly last: FieldSet | undefined;
  readonly kept: FieldSet | undefined;
  /** Members that never go: the keys of a list's element. */
  readonly keep: readonly string[];
}

interface PrunedMember {
  readonly structure: Structure;
  /** A map's element rather than a field. */
  readonly isElement: boolean;
}

type MemberOf = (name: string) => PrunedMember;

/** What no field declares is an element: a type that keeps such members is a map of them, too. */
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
      // What structured-merge-diff leaves of it. Where there is a schema, 1.24 goes on to refuse that null.
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
