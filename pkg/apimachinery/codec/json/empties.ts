/**
 * Empty lists, maps and bytes that 1.24 tells from absent ones until it stores the object (`FieldRules.keepsEmpty`): its
 * validation refuses some of them. Nothing of them is stored.
 */
import { placesFinder, rewrittenBelow } from '#apimachinery/codec/json/field-places.js';
import { type JsonObject, saysNothing } from '#apimachinery/codec/json/walk.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

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
export function storedForm<T extends object>(type: TypeInfo, object: T): T {
  return withoutEmpties(type, object as unknown as JsonObject) as unknown as T;
}

function withoutEmpties(type: TypeInfo, object: JsonObject): JsonObject {
  const places = placesOf(type);
  let result = rewrittenBelow(places, object, withoutEmpties);
  for (const field of places.own) {
    if (object[field.name] === undefined || !saysNothing(field, object[field.name])) continue;
    const { [field.name]: _, ...others } = result;
    result = others;
  }
  return result;
}
