/**
 * Lists and maps that 1.24 writes as null where they have no elements: those of fields that are never left out of JSON
 * (`rules`, `limits`, `drivers`). In memory such a list is absent, so that nobody has to think of null.
 */
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Where the lists of a type are. */
interface Plan {
  /** Own fields that are null when empty. */
  readonly lists: readonly string[];
  /** Fields below which there are more. */
  readonly below: readonly { readonly field: FieldInfo; readonly type: TypeInfo }[];
}

/** The object with nulls where 1.24 has them: itself when there are none, and otherwise sharing what has none. */
export function withNullLists<T extends object>(type: TypeInfo, object: T): T {
  return rewritten(type, object as unknown as JsonObject, addNull) as unknown as T;
}

/** The object of a parsed text without these nulls, likewise. */
export function withoutNullLists<T extends object>(type: TypeInfo, object: T): T {
  return rewritten(type, object as unknown as JsonObject, dropNull) as unknown as T;
}

/** False: nothing has to be looked for in objects of the type. */
export function hasNullLists(type: TypeInfo): boolean {
  const { lists, below } = planOf(type);
  return lists.length > 0 || below.length > 0;
}

type Rewrite = (object: JsonObject, field: string) => JsonObject;

function addNull(object: JsonObject, field: string): JsonObject {
  const value = object[field];
  if (value !== undefined && !(Array.isArray(value) && value.length === 0)) return object;
  return { ...object, [field]: null };
}

function dropNull(object: JsonObject, field: string): JsonObject {
  if (object[field] !== null) return object;
  const { [field]: _, ...rest } = object;
  return rest;
}

function rewritten(type: TypeInfo, object: JsonObject, rewrite: Rewrite): JsonObject {
  const { lists, below } = planOf(type);
  let result = object;
  for (const field of lists) result = rewrite(result, field);
  for (const { field, type: inner } of below) {
    const value = object[field.name];
    if (typeof value !== 'object' || value === null) continue;
    const next = ofField(field, inner, value, rewrite);
    if (next === value) continue;
    if (result === object) result = { ...object };
    result[field.name] = next;
  }
  return result;
}

function ofField({ container }: FieldInfo, type: TypeInfo, value: object, rewrite: Rewrite): object {
  const each = (element: unknown): unknown =>
    typeof element === 'object' && element !== null ? rewritten(type, element as JsonObject, rewrite) : element;
  if (container === 'single') return each(value) as object;
  if (!Array.isArray(value)) return value;
  let list: unknown[] = value;
  for (let i = 0; i < value.length; i++) {
    const next = each(value[i]);
    if (next === value[i]) continue;
    if (list === value) list = [...value];
    list[i] = next;
  }
  return list;
}

const planOf = oncePer((type: TypeInfo): Plan => {
  const below = innerTypes(type).filter(({ type: inner }) => isConcerned(inner));
  return { lists: ownLists(type), below };
});

/** Whether there is such a list in a type or below it. Types may be parts of themselves. */
const isConcerned = oncePer((type: TypeInfo): boolean => {
  for (const one of reachable(type)) if (ownLists(one).length > 0) return true;
  return false;
});

function reachable(type: TypeInfo): ReadonlySet<TypeInfo> {
  const found = new Set([type]);
  for (const one of found) for (const { type: inner } of innerTypes(one)) found.add(inner);
  return found;
}

/** Messages in maps are left out: none of 1.24 has such lists. */
function innerTypes(type: TypeInfo): { field: FieldInfo; type: TypeInfo }[] {
  if (type.shape !== 'struct') return [];
  return [...type.byName.values()].flatMap((field) =>
    field.type?.shape === 'struct' && field.container !== 'map' ? [{ field, type: field.type }] : [],
  );
}

/** A list kind always has its items. */
function ownLists(type: TypeInfo): string[] {
  if (type.shape !== 'struct') return [];
  return [...type.byName.values()]
    .filter(
      ({ container, omitempty, name }) => container !== 'single' && !omitempty && !(type.isList && name === 'items'),
    )
    .map(({ name }) => name);
}
