/**
 * Members that 1.24 writes as null where they say nothing: times that are no pointers (`creationTimestamp` of a template,
 * `eventTime`), and lists, maps and pointers that are never left out of JSON (`rules`, `limits`, `apiGroup`). In memory
 * such a member is absent, so that no program has to think of null.
 */
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { Shape } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Where the nulls of a type are. */
interface Plan {
  /** Own fields that are null when they say nothing. */
  readonly own: readonly string[];
  /** Fields below which there are more. */
  readonly below: readonly Below[];
  /** Places of the fields in 1.24's text, which is in the order of their numbers. */
  readonly places: ReadonlyMap<string, number>;
}

interface Below {
  readonly name: string;
  readonly type: TypeInfo;
  readonly isList: boolean;
}

/** The object with nulls where 1.24 has them: itself when there are none, and otherwise sharing what has none. */
export function withNulls<T extends object>(type: TypeInfo, object: T): T {
  return added(planOf(type), object as unknown as JsonObject) as unknown as T;
}

/** The object of a parsed text without these nulls, likewise. */
export function withoutNulls<T extends object>(type: TypeInfo, object: T): T {
  return dropped(planOf(type), object as unknown as JsonObject) as unknown as T;
}

/** False: nothing has to be looked for in objects of the type. */
export function hasNulls(type: TypeInfo): boolean {
  return isConcerned(type);
}

/** An object's nulls level by level: for who writes its members one by one, most of them without a look. */
export interface Nulls {
  /** The object with those of its own level. */
  ownOf<T extends object>(object: T): T;
  /** The value of that member with those inside of it. */
  inside(member: string, value: object): object;
}

export const nullsOf = oncePer((type: TypeInfo): Nulls => {
  const plan = planOf(type);
  const below = new Map(plan.below.map((part) => [part.name, part]));
  return {
    ownOf: <T extends object>(object: T) => ownWithNulls(plan, object as unknown as JsonObject) as unknown as T,
    inside: (member, value) => {
      const part = below.get(member);
      return part === undefined ? value : inPart(part, value, added);
    },
  };
});

type Rewrite = (plan: Plan, object: JsonObject) => JsonObject;

const added: Rewrite = (plan, object) => rewritten(plan, ownWithNulls(plan, object), added);

const dropped: Rewrite = (plan, object) => rewritten(plan, ownWithoutNulls(plan, object), dropped);

function ownWithNulls(plan: Plan, object: JsonObject): JsonObject {
  for (const name of plan.own) if (saysNothing(object[name])) return inPlaces(plan, object);
  return object;
}

function saysNothing(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** The object with its own nulls, each before the first member that comes behind it in 1.24's text. */
function inPlaces({ own, places }: Plan, object: JsonObject): JsonObject {
  const names = own.filter((name) => saysNothing(object[name]));
  const result: JsonObject = {};
  const placeOf = (name: string | undefined) =>
    name === undefined ? Number.POSITIVE_INFINITY : (places.get(name) ?? -1);
  let next = 0;
  let nextPlace = placeOf(names[0]);
  for (const name in object) {
    for (const place = placeOf(name); nextPlace < place; nextPlace = placeOf(names[next])) {
      result[names[next++] as string] = null;
    }
    // An empty list has had its place or will have it.
    if (!names.includes(name) && name !== '__proto__') result[name] = object[name];
  }
  while (next < names.length) result[names[next++] as string] = null;
  return result;
}

function ownWithoutNulls({ own }: Plan, object: JsonObject): JsonObject {
  for (const name of own) {
    if (object[name] !== null) continue;
    const result: JsonObject = {};
    for (const key in object) {
      if (key !== '__proto__' && (object[key] !== null || !own.includes(key))) result[key] = object[key];
    }
    return result;
  }
  return object;
}

/** The object with its parts rewritten; itself where they stay. */
function rewritten({ below }: Plan, object: JsonObject, rewrite: Rewrite): JsonObject {
  let result = object;
  for (const part of below) {
    const value = object[part.name];
    if (typeof value !== 'object' || value === null) continue;
    const next = inPart(part, value, rewrite);
    if (next === value) continue;
    if (result === object) result = { ...object };
    result[part.name] = next;
  }
  return result;
}

function inPart({ type, isList }: Below, value: object, rewrite: Rewrite): object {
  const plan = planOf(type);
  if (!isList) return Array.isArray(value) ? value : rewrite(plan, value as JsonObject);
  if (!Array.isArray(value)) return value;
  let list: unknown[] = value;
  for (let i = 0; i < value.length; i++) {
    const element: unknown = value[i];
    if (typeof element !== 'object' || element === null || Array.isArray(element)) continue;
    const next = rewrite(plan, element as JsonObject);
    if (next === element) continue;
    if (list === value) list = [...value];
    list[i] = next;
  }
  return list;
}

const planOf = oncePer((type: TypeInfo): Plan => {
  // Custom objects are values without Go types: what is not there is not written.
  if (type.shape !== 'struct' || type.prune !== undefined) return { own: [], below: [], places: new Map() };
  const fields = [...type.byName.values()];
  const own = fields.filter((field) => isNullable(type, field)).map(({ name }) => name);
  const below = innerTypes(type)
    .filter((part) => isConcerned(part.type))
    .map(({ field, type: inner }) => ({ name: field.name, type: inner, isList: field.container === 'list' }));
  return { own, below, places: new Map(fields.map(({ name }, i) => [name, i])) };
});

/** Whether there is such a field in a type or below it. Types may be parts of themselves. */
const isConcerned = oncePer((type: TypeInfo): boolean => {
  if (type.prune !== undefined) return false;
  for (const one of reachable(type)) if ([...one.byName.values()].some((field) => isNullable(one, field))) return true;
  return false;
});

function reachable(type: TypeInfo): ReadonlySet<TypeInfo> {
  const found = new Set([type]);
  for (const one of found) for (const { type: inner } of innerTypes(one)) found.add(inner);
  return found;
}

/** Messages in maps are left out: none of 1.24 has such fields. */
function innerTypes(type: TypeInfo): { field: FieldInfo; type: TypeInfo }[] {
  if (type.shape !== 'struct') return [];
  return [...type.byName.values()].flatMap((field) =>
    field.type?.shape === 'struct' && field.container !== 'map' ? [{ field, type: field.type }] : [],
  );
}

/** Messages whose zero is null in JSON; as they are no pointers, `omitempty` does not leave them out. */
const shapesOfNull: ReadonlySet<Shape> = new Set(['time', 'microTime', 'rawJSON']);

/** Whether 1.24 writes a null for the field where it says nothing. A list kind always has its items. */
function isNullable(type: TypeInfo, { name, container, omitempty, pointer, scalar, type: of }: FieldInfo): boolean {
  if (type.shape !== 'struct') return false;
  if (container !== 'single') return !omitempty && !(type.isList && name === 'items');
  if (pointer) return !omitempty;
  return of === undefined ? scalar === 'bytes' && !omitempty : shapesOfNull.has(of.shape);
}
