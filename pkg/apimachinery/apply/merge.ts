/** Lays an applied configuration over a live object, and takes out what nobody wants any more. */
import { at, type FieldSet, isMember } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  type ElementsStructure,
  elementOf,
  type JsonObject,
  partStructure,
  type Structure,
  structureOf,
} from '#apimachinery/apply/structure.js';
import { setMember } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** The live object with the applied values; elements of lists stay in their order, new ones follow. */
export function merge(type: TypeInfo, live: JsonObject, applied: JsonObject): JsonObject {
  return mergeMembers(live, applied, (name) => structureOf(type.byName.get(name)));
}

function mergeMembers(live: JsonObject, applied: JsonObject, structure: (name: string) => Structure): JsonObject {
  const result: Record<string, unknown> = { ...live };
  for (const [name, value] of Object.entries(applied)) {
    const old = Object.hasOwn(live, name) ? live[name] : undefined;
    setMember(result, name, mergeValue(old, value, structure(name)));
  }
  return result;
}

function mergeValue(live: unknown, applied: unknown, structure: Structure): unknown {
  if (live === undefined) return applied;
  switch (structure.kind) {
    case 'leaf':
      return applied;
    case 'struct':
      return merge(structure.type, asObject(live), asObject(applied));
    case 'map': {
      const element = structure.element;
      return mergeMembers(asObject(live), asObject(applied), () => element);
    }
    case 'set':
    case 'list': {
      const wanted = new Map(asList(applied).map((value) => [elementOf(structure, value), value]));
      const merged = asList(live).map((value) => {
        const key = elementOf(structure, value);
        const other = wanted.get(key);
        wanted.delete(key);
        return other === undefined ? value : mergeValue(value, other, partStructure(structure));
      });
      return [...merged, ...wanted.values()];
    }
  }
}

/**
 * Takes out what is in `last` (what the applier applied before) and that nothing in `kept` (what anybody manages now)
 * needs. A field goes with all that is in it; an element of a list or a map goes unless it is itself in `kept`.
 */
export function prune(type: TypeInfo, object: JsonObject, last: FieldSet, kept: FieldSet): JsonObject {
  return pruneMembers(object, { last, kept, elements: false, keep: [] }, (name) => structureOf(type.byName.get(name)));
}

interface PruneContext {
  readonly last: FieldSet | undefined;
  readonly kept: FieldSet | undefined;
  /** Members are a map's elements rather than fields. */
  readonly elements: boolean;
  /** Members that never go: the keys of a list's element. */
  readonly keep: readonly string[];
}

function pruneMembers(object: JsonObject, context: PruneContext, structure: (name: string) => Structure): JsonObject {
  let result: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(object)) {
    const last = at(context.last, `f:${name}`);
    if (last === undefined || context.keep.includes(name)) continue;
    const kept = at(context.kept, `f:${name}`);
    const wanted = context.elements ? isMember(kept) || !isMember(last) : kept !== undefined;
    const next = wanted ? pruneValue(value, last, kept, structure(name)) : undefined;
    if (next === value) continue;
    result ??= { ...object };
    if (next === undefined) delete result[name];
    else setMember(result, name, next);
  }
  return result ?? object;
}

function pruneValue(value: unknown, last: FieldSet, kept: FieldSet | undefined, structure: Structure): unknown {
  switch (structure.kind) {
    case 'leaf':
      return value;
    case 'struct':
      return pruneMembers(asObject(value), { last, kept, elements: false, keep: [] }, (name) =>
        structureOf(structure.type.byName.get(name)),
      );
    case 'map': {
      const element = structure.element;
      return pruneMembers(asObject(value), { last, kept, elements: true, keep: [] }, () => element);
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
            { last: lastBelow, kept: keptBelow, elements: false, keep: structure.keys },
            (name) => structureOf(structure.type.byName.get(name)),
          );
    if (next !== value) changed = true;
    result.push(next);
  }
  return changed ? result : list;
}
