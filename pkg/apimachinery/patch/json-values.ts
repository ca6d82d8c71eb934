/** Operations on JSON values that the patch types share; none modifies its arguments. */

import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { NumberLiteral } from '#apimachinery/json-text.js';

/** Maximum nesting of patches. */
const maxPatchDepth = 500;

/** An own member; inherited members are not part of a document. */
export function member(object: Readonly<JsonObject>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const name of path) current = isJsonObject(current) ? member(current, name) : undefined;
  return current;
}

/** Equality of JSON values: ignores the order of members, and undefined members count as absent. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof NumberLiteral) return jsonEqual(a.value, b);
  if (b instanceof NumberLiteral) return jsonEqual(a, b.value);
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((element, i) => jsonEqual(element, b[i]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  let members = 0;
  for (const key in a) {
    const value = a[key];
    if (value === undefined) continue;
    // An inherited member never equals a value, except the prototype itself.
    if (!jsonEqual(value, key === '__proto__' ? member(b, key) : b[key])) return false;
    members++;
  }
  for (const key in b) if (b[key] !== undefined) members--;
  return members === 0;
}

/** Throws 400 BadRequest if a patch is nested too deeply. */
export function checkPatchDepth(depth: number): void {
  if (depth > maxPatchDepth) throw badRequest('the patch is nested too deeply');
}

/** Throws 400 BadRequest if a value is nested too deeply. */
export function checkValueDepth(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  checkPatchDepth(depth);
  for (const part of Object.values(value)) checkValueDepth(part, depth + 1);
}
