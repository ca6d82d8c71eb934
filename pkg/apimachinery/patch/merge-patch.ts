/** JSON merge patch (RFC 7386): members replace members, null removes, anything but an object replaces the whole. */
import { setMember } from '#apimachinery/collections/set-member.js';
import { checkPatchDepth, isObject, type JsonObject, member } from '#apimachinery/patch/json-values.js';

/** The patched value. Parts that the patch leaves alone are shared with `target`. Throws 400 for hostile nesting. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  return merge(target, patch, 0);
}

function merge(target: unknown, patch: unknown, depth: number): unknown {
  if (!isObject(patch)) return patch;
  checkPatchDepth(depth);
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) delete result[key];
    else setMember(result, key, merge(member(result, key), value, depth + 1));
  }
  return result;
}
