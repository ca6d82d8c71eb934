/** Where fields of some kind are in a type and in what is part of it, so that objects need not be looked through for them. */
import { type JsonObject, saysNothing } from '#apimachinery/codec/json/walk.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

const placesOf = placesFinder((_type, { keepsEmpty }) => keepsEmpty === true);

/** Takes them out of a valid object, in place; parts that have any are replaced, as they may be shared. */
export function dropEmpties(type: TypeInfo, object: object): void {
  const whole = object as JsonObject;
  const rest = withoutEmpties(type, whole);
  if (rest === whole) return;
  for (const name of Object.keys(whole)) {
    if (name in rest) whole[name] = rest[name];
    else delete whole[name];
  }
}

/** The object as it would be stored: itself where it has none, and otherwise sharing the parts that have none. */
export function withoutEmpties<T extends object>(type: TypeInfo, object: T): T {
  return stripped(type, object as unknown as JsonObject) as unknown as T;
}

function stripped(type: TypeInfo, object: JsonObject): JsonObject {
  const places = placesOf(type);
  let result = rewrittenBelow(places, object, stripped);
  for (const field of places.own) {
    if (object[field.name] === undefined || !saysNothing(field, object[field.name])) continue;
    const { [field.name]: _, ...others } = result;
    result = others;
  }
  return result;
}

export interface FieldPlaces {
  /** The type's own. */
  readonly own: readonly FieldInfo[];
  /** Fields below which there are more. */
  readonly below: readonly Below[];
}

interface Below {
  readonly name: string;
  readonly type: TypeInfo;
  readonly isList: boolean;
}

type IsMeant = (type: TypeInfo, field: FieldInfo) => boolean;

/** Changes an object of a type; itself where it stays. */
export type RewriteOf = (type: TypeInfo, object: JsonObject) => JsonObject;

/** Finds the places of fields in types that have Go types: custom objects are values. Pure but for what it remembers. */
export function placesFinder(isMeant: IsMeant): (type: TypeInfo) => FieldPlaces {
  const isConcerned = oncePer((type: TypeInfo): boolean => {
    for (const one of reachable(type)) if ([...one.byName.values()].some((field) => isMeant(one, field))) return true;
    return false;
  });
  return oncePer((type: TypeInfo): FieldPlaces => {
    if (type.shape !== 'struct' || type.prune !== undefined) return { own: [], below: [] };
    return {
      own: [...type.byName.values()].filter((field) => isMeant(type, field)),
      below: innerTypes(type)
        .filter((part) => isConcerned(part.type))
        .map(({ field, type: inner }) => ({ name: field.name, type: inner, isList: field.container === 'list' })),
    };
  });
}

/** Types may be parts of themselves. */
function reachable(type: TypeInfo): ReadonlySet<TypeInfo> {
  const found = new Set([type]);
  for (const one of found) for (const { type: inner } of innerTypes(one)) found.add(inner);
  return found;
}

/** Messages in maps are left out: none of 1.24 has such fields. */
function innerTypes(type: TypeInfo): { field: FieldInfo; type: TypeInfo }[] {
  if (type.shape !== 'struct' || type.prune !== undefined) return [];
  return [...type.byName.values()].flatMap((field) =>
    field.type?.shape === 'struct' && field.container !== 'map' ? [{ field, type: field.type }] : [],
  );
}

/** The object with its parts rewritten; itself where they stay. */
export function rewrittenBelow({ below }: FieldPlaces, object: JsonObject, rewrite: RewriteOf): JsonObject {
  let result = object;
  for (const part of below) {
    const value = object[part.name];
    if (typeof value !== 'object' || value === null) continue;
    const next = rewrittenPart(part, value, rewrite);
    if (next === value) continue;
    if (result === object) result = { ...object };
    result[part.name] = next;
  }
  return result;
}

/** The value of such a field. */
export function rewrittenPart({ type, isList }: Below, value: object, rewrite: RewriteOf): object {
  if (!isList) return Array.isArray(value) ? value : rewrite(type, value as JsonObject);
  if (!Array.isArray(value)) return value;
  let list: unknown[] = value;
  for (let i = 0; i < value.length; i++) {
    const element: unknown = value[i];
    if (typeof element !== 'object' || element === null || Array.isArray(element)) continue;
    const next = rewrite(type, element as JsonObject);
    if (next === element) continue;
    if (list === value) list = [...value];
    list[i] = next;
  }
  return list;
}
