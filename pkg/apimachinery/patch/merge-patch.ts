/**
 * JSON merge patch (RFC 7386): members replace members, null removes a member, any other value replaces the whole. As
 * in 1.24, objects inside lists also lose their null members, unless the list replaces an object.
 */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { checkPatchDepth, member } from '#apimachinery/patch/json-values.js';

/** The patched value. Shares unchanged parts with `target`. Throws 400 for excessive nesting. */
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
