/** What the patch languages share: JSON values, compared and changed without touching the originals. */

import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { NumberLiteral } from '#apimachinery/json-text.js';

/** Nesting of patches; deeper ones are refused. */
const maxPatchDepth = 500;

/** An own member; what every object inherits is no member of a document. */
export function member(object: Readonly<JsonObject>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The value at a path of members; undefined where there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) found = isJsonObject(found) ? member(found, name) : undefined;
  return found;
}

/** Equality of JSON values; the order of members does not matter, and members that are undefined are absent. */
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
    // No value is equal to what objects inherit, but for their prototype's.
    if (!jsonEqual(value, key === '__proto__' ? member(b, key) : b[key])) return false;
    members++;
  }
  for (const key in b) if (b[key] !== undefined) members--;
  return members === 0;
}

/** Throws 400 BadRequest once a patch nests too deeply. */
export function checkPatchDepth(depth: number): void {
  if (depth > maxPatchDepth) throw badRequest('the patch is nested too deeply');
}

/** Throws 400 BadRequest for a value that nests too deeply. */
export function checkValueDepth(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  checkPatchDepth(depth);
  for (const part of Object.values(value)) checkValueDepth(part, depth + 1);
}
