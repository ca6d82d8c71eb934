/** Lets decoded objects have in common what is equal in them. */
import { isShared } from '#apimachinery/freeze.js';

/** Deeper parts stay apart. */
const maxDepth = 32;

/**
 * `value` with every part of it that equals the one at the same place in `like` replaced, in place, by that one; `like`
 * itself where all is equal. Parts that are shared already stay as they are.
 */
export function shareEqual<T>(value: T, like: unknown, depth = 0): T {
  if (!isPart(value) || !isPart(like) || value === like || depth === maxDepth) return value;
  return isAll(value, like, depth + 1) ? (like as T) : value;
}

type Part = Record<string, unknown>;

/** Replaces the members; true when there are no others in either, and all are equal. */
function isAll(value: Part, like: Part, depth: number): boolean {
  if (Array.isArray(value) !== Array.isArray(like)) return false;
  const keys = Object.keys(value);
  const fixed = isShared(value);
  let same = true;
  for (const key of keys) {
    if (!Object.hasOwn(like, key)) {
      same = false;
      continue;
    }
    const theirs = like[key];
    const ours = value[key];
    const shared = shareEqual(ours, theirs, depth);
    if (shared !== theirs) same = false;
    // Equal strings too: each has memory of its own until then.
    else if (!fixed && key !== '__proto__') value[key] = theirs;
  }
  return same && Object.keys(like).length === keys.length;
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null;
}
