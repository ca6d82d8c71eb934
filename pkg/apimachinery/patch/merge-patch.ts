/**
 * JSON merge patch (RFC 7386): members replace members, null removes, anything but an object replaces the whole. As with 1.24,
 * objects inside of lists lose their nulls, too, unless the list takes the place of an object.
 */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { checkPatchDepth, member } from '#apimachinery/patch/json-values.js';

/** The patched value. Parts that the patch leaves alone are shared with `target`. Throws 400 for hostile nesting. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  return merge(target, patch, 0);
}

function merge(target: unknown, patch: unknown, depth: number): unknown {
  if (Array.isArray(patch) && !isJsonObject(target)) return pruned(patch, depth);
  if (!isJsonObject(patch)) return patch;
  checkPatchDepth(depth);
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) delete result[key];
    else setMember(result, key, merge(member(result, key), value, depth + 1));
  }
  return result;
}

function pruned(value: unknown, depth: number): unknown {
  if (isJsonObject(value)) return merge(undefined, value, depth);
  if (!Array.isArray(value)) return value;
  checkPatchDepth(depth);
  return value.map((element) => pruned(element, depth + 1));
}
