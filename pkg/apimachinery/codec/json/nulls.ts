/**
 * Members that 1.24 writes as null where they say nothing: times that are no pointers (`creationTimestamp` of a template,
 * `eventTime`), and lists, maps and pointers that are never left out of JSON (`rules`, `limits`, `apiGroup`). In memory
 * such a member is absent, so that no program has to think of null.
 */
import {
  type FieldPlaces,
  placesFinder,
  type RewriteOf,
  rewrittenBelow,
  rewrittenPart,
} from '#apimachinery/codec/json/field-places.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { Shape } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Where the nulls of a type are. */
interface Plan {
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
  const { own, below } = placesOf(type);
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

const placesOf = placesFinder(isNullable);

const planOf = oncePer((type: TypeInfo): Plan => {
  const fields = placesOf(type);
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
