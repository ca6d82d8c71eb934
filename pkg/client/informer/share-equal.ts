/** Lets decoded objects share equal parts, to save memory. */
import { isShared } from '#apimachinery/freeze.js';

/** Deeper parts are not shared. */
const maxDepth = 32;

/**
 * Replaces, in place, every part of `value` that equals the part at the same place in `like`; returns `like` itself if
 * all is equal. Parts of `value` that are shared already are not modified.
 */
export function shareEqual<T>(value: T, like: unknown, depth = 0): T {
  if (!isPart(value) || !isPart(like) || value === like || depth === maxDepth) return value;
  return isAll(value, like, depth + 1) ? (like as T) : value;
}

type Part = Record<string, unknown>;

/** Replaces equal members; true if both have the same members and all are equal. */
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
    // Share equal strings too, since each decoded one has its own memory.
    else if (!fixed && key !== '__proto__') value[key] = theirs;
  }
  return same && Object.keys(like).length === keys.length;
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null;
}
