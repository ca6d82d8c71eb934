/**
 * Empty members in types with Go types: those that 1.24 writes as null, and those that are dropped before an object is
 * stored. Their places in a type and its parts are computed once, so that objects need no search.
 */
import { isInsignificant, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { Shape } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

interface FieldPlaces {
  /** Fields of the type itself. */
  readonly own: readonly FieldInfo[];
  /** Fields of message type that contain such fields. */
  readonly below: readonly Below[];
}

interface Below {
  readonly name: string;
  readonly type: TypeInfo;
  readonly isList: boolean;
}

type IsMeant = (type: TypeInfo, field: FieldInfo) => boolean;

/** Rewrites an object of a type; returns the object itself if unchanged. */
type RewriteOf = (type: TypeInfo, object: JsonObject) => JsonObject;

/** Finds the places of fields in types with Go types; custom objects are opaque values. Pure except for its cache. */
function placesFinder(isMeant: IsMeant): (type: TypeInfo) => FieldPlaces {
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

/** Types may be recursive. */
function reachable(type: TypeInfo): ReadonlySet<TypeInfo> {
  const types = new Set([type]);
  for (const one of types) for (const { type: inner } of innerTypes(one)) types.add(inner);
  return types;
}

/** Skips messages in maps: in 1.24 none of them has such fields. */
function innerTypes(type: TypeInfo): { field: FieldInfo; type: TypeInfo }[] {
  if (type.shape !== 'struct' || type.prune !== undefined) return [];
  return [...type.byName.values()].flatMap((field) =>
    field.type?.shape === 'struct' && field.container !== 'map' ? [{ field, type: field.type }] : [],
  );
}

/** The object with rewritten parts; returns the object itself if unchanged. */
function rewrittenBelow({ below }: FieldPlaces, object: JsonObject, rewrite: RewriteOf): JsonObject {
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

/** The rewritten value of a field. */
function rewrittenPart({ type, isList }: Below, value: object, rewrite: RewriteOf): object {
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

const emptiesOf = placesFinder((_type, { keepsEmpty }) => keepsEmpty === true);

/** Removes empty values from a valid object in place; affected parts are replaced, because they may be shared. */
export function dropEmpties(type: TypeInfo, object: object): void {
  const whole = object as JsonObject;
  const rest = withoutEmpties(type, whole);
  if (rest === whole) return;
  for (const name of Object.keys(whole)) {
    if (name in rest) whole[name] = rest[name];
    else delete whole[name];
  }
}

/**
 * The object in stored form: the object itself if it has no such values, or else a copy that shares unaffected parts.
 */
export function withoutEmpties<T extends object>(type: TypeInfo, object: T): T {
  return stripped(type, object as unknown as JsonObject) as unknown as T;
}

function stripped(type: TypeInfo, object: JsonObject): JsonObject {
  const places = emptiesOf(type);
  let result = rewrittenBelow(places, object, stripped);
  for (const field of places.own) {
    if (object[field.name] === undefined || !isInsignificant(field, object[field.name])) continue;
    const { [field.name]: _, ...others } = result;
    result = others;
  }
  return result;
}

// Null members: times that are not pointers (`creationTimestamp` of a template, `eventTime`), and lists, maps and
// pointers without omitempty (`rules`, `limits`, `apiGroup`). In memory such members are absent.

/** The places of a type's nulls. */
interface NullPlan {
  /** Own fields that are null if unset, and fields with such fields below. */
  readonly fields: FieldPlaces;
  readonly own: readonly string[];
  /** Positions of the fields in 1.24's output, which follows their field numbers. */
  readonly places: ReadonlyMap<string, number>;
}

/** A copy with nulls where 1.24 writes them, which shares unaffected parts; the object itself if there are none. */
export function withNulls<T extends object>(type: TypeInfo, object: T): T {
  return added(type, object as unknown as JsonObject) as unknown as T;
}

/** Removes the nulls that `withNulls` adds from a parsed object. */
export function withoutNulls<T extends object>(type: TypeInfo, object: T): T {
  return dropped(type, object as unknown as JsonObject) as unknown as T;
}

/** False if objects of the type never have nulls. */
export function hasNulls(type: TypeInfo): boolean {
  const { own, below } = nullsIn(type);
  return own.length > 0 || below.length > 0;
}

/** An object's nulls level by level, for an encoder that writes members one by one. */
export interface Nulls {
  /** The object with nulls at its own level. */
  ownOf<T extends object>(object: T): T;
  /** The value of that member with nulls inside. */
  inside(member: string, value: object): object;
}

export const nullsOf = oncePer((type: TypeInfo): Nulls => {
  const plan = planOf(type);
  const below = new Map(plan.fields.below.map((part) => [part.name, part]));
  return {
    ownOf: <T extends object>(object: T) => ownWithNulls(plan, object as unknown as JsonObject) as unknown as T,
    inside: (member, value) => {
      const part = below.get(member);
      return part === undefined ? value : rewrittenPart(part, value, added);
    },
  };
});

const added: RewriteOf = (type, object) => {
  const plan = planOf(type);
  return rewrittenBelow(plan.fields, ownWithNulls(plan, object), added);
};

const dropped: RewriteOf = (type, object) => {
  const plan = planOf(type);
  return rewrittenBelow(plan.fields, ownWithoutNulls(plan, object), dropped);
};

function ownWithNulls(plan: NullPlan, object: JsonObject): JsonObject {
  for (const name of plan.own) if (isUnsaid(object[name])) return inPlaces(plan, object);
  return object;
}

function isUnsaid(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** The object with its own nulls, each before the first member that follows it in 1.24's output. */
function inPlaces({ own, places }: NullPlan, object: JsonObject): JsonObject {
  const names = own.filter((name) => isUnsaid(object[name]));
  const result: JsonObject = {};
  const placeOf = (name: string | undefined) =>
    name === undefined ? Number.POSITIVE_INFINITY : (places.get(name) ?? -1);
  let next = 0;
  let nextPlace = placeOf(names[0]);
  for (const name in object) {
    for (const place = placeOf(name); nextPlace < place; nextPlace = placeOf(names[next])) {
      result[names[next++] as string] = null;
    }
    // Nulls replace empty lists at their own position.
    if (!names.includes(name) && name !== '__proto__') result[name] = object[name];
  }
  while (next < names.length) result[names[next++] as string] = null;
  return result;
}

function ownWithoutNulls({ own }: NullPlan, object: JsonObject): JsonObject {
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

const nullsIn = placesFinder(isNullable);

const planOf = oncePer((type: TypeInfo): NullPlan => {
  const fields = nullsIn(type);
  const own = fields.own.map(({ name }) => name);
  const places = new Map(own.length === 0 ? [] : [...type.byName.keys()].map((name, i) => [name, i]));
  return { fields, own, places };
});

/** Messages whose zero value is null in JSON; since they are not pointers, `omitempty` does not omit them. */
const shapesOfNull: ReadonlySet<Shape> = new Set(['time', 'microTime', 'rawJSON']);

/** Whether 1.24 writes an unset field as null. A list kind always has its items. */
function isNullable(
  type: TypeInfo,
  { name, container, omitempty, pointer, scalar, type: fieldType }: FieldInfo,
): boolean {
  if (type.shape !== 'struct') return false;
  if (container !== 'single') return !omitempty && !(type.isList && name === 'items');
  if (pointer) return !omitempty;
  return fieldType === undefined ? scalar === 'bytes' && !omitempty : shapesOfNull.has(fieldType.shape);
}
