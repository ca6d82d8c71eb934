/**
 * Members that say nothing, in the types that have Go types: those that 1.24 writes as null, and those that are dropped before an
 * object is stored. Where they are in a type and in what is part of it is found once, so that objects need not be looked through.
 */
import { type JsonObject, saysNothing } from '#apimachinery/codec/json/walk.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { Shape } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

// Places of fields.

interface FieldPlaces {
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
type RewriteOf = (type: TypeInfo, object: JsonObject) => JsonObject;

/** Finds the places of fields in types that have Go types: custom objects are values. Pure but for what it remembers. */
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

/** The value of such a field. */
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

// Empty values.

const emptiesOf = placesFinder((_type, { keepsEmpty }) => keepsEmpty === true);

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
  const places = emptiesOf(type);
  let result = rewrittenBelow(places, object, stripped);
  for (const field of places.own) {
    if (object[field.name] === undefined || !saysNothing(field, object[field.name])) continue;
    const { [field.name]: _, ...others } = result;
    result = others;
  }
  return result;
}

// Nulls: of times that are no pointers (`creationTimestamp` of a template, `eventTime`), and of lists, maps and pointers that are
// never left out of JSON (`rules`, `limits`, `apiGroup`). In memory such a member is absent, so that no program has to think of null.

/** Where the nulls of a type are. */
interface NullPlan {
  /** Own fields that are null when they say nothing, and those below. */
  readonly fields: FieldPlaces;
  readonly own: readonly string[];
  /** Places of the fields in 1.24's text, which is in the order of their numbers. */
  readonly places: ReadonlyMap<string, number>;
}

/** The object with nulls where 1.24 has them: itself when there are none, and otherwise sharing what has none. */
export function withNulls<T extends object>(type: TypeInfo, object: T): T {
  return added(type, object as unknown as JsonObject) as unknown as T;
}

/** The object of a parsed text without these nulls, likewise. */
export function withoutNulls<T extends object>(type: TypeInfo, object: T): T {
  return dropped(type, object as unknown as JsonObject) as unknown as T;
}

/** False: nothing has to be looked for in objects of the type. */
export function hasNulls(type: TypeInfo): boolean {
  const { own, below } = nullsIn(type);
  return own.length > 0 || below.length > 0;
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

/** The object with its own nulls, each before the first member that comes behind it in 1.24's text. */
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
    // An empty list has had its place or will have it.
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

/** Messages whose zero is null in JSON; as they are no pointers, `omitempty` does not leave them out. */
const shapesOfNull: ReadonlySet<Shape> = new Set(['time', 'microTime', 'rawJSON']);

/** Whether 1.24 writes a null for the field where it says nothing. A list kind always has its items. */
function isNullable(type: TypeInfo, { name, container, omitempty, pointer, scalar, type: of }: FieldInfo): boolean {
  if (type.shape !== 'struct') return false;
  if (container !== 'single') return !omitempty && !(type.isList && name === 'items');
  if (pointer) return !omitempty;
  return of === undefined ? scalar === 'bytes' && !omitempty : shapesOfNull.has(of.shape);
}
