/** Finds members that an object of a JSON text has twice: JSON.parse keeps the last one and says nothing. */
import { endOfString } from '#apimachinery/codec/json/text.js';

const quote = 34;
const backslash = 92;
const space = 32;

interface Frame {
  /** Keys of an object, undefined in an array. A set only where there are many: most objects have few. */
  keys: string[] | Set<string> | undefined;
  key: string;
  index: number;
}

function pathOf(frames: readonly Frame[]): string {
  let path = '';
  for (const frame of frames) {
    if (frame.keys === undefined) path += `[${frame.index}]`;
    else path += path === '' ? frame.key : `.${frame.key}`;
  }
  return path;
}

const fewKeys = 8;

/** False when the frame's object has that key already. */
function addKey(frame: Frame, key: string): boolean {
  const { keys } = frame;
  if (Array.isArray(keys)) {
    if (keys.includes(key)) return false;
    keys.push(key);
    if (keys.length > fewKeys) frame.keys = new Set(keys);
    return true;
  }
  if (keys === undefined || keys.has(key)) return false;
  keys.add(key);
  return true;
}

/**
 * How many keys the objects of a valid JSON text have, those that repeat included; undefined where it takes a parser to
 * tell. Several times faster than looking for the ones that repeat, which hardly any text has.
 */
export function countKeys(text: string): number | undefined {
  let count = 0;
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    const before = text.charCodeAt(at - 1);
    // Perhaps behind a key, perhaps in the middle of a string.
    if (before <= space) return undefined;
    if (before !== quote) continue;
    if (text.charCodeAt(at - 2) !== backslash) count++;
    // A quote in a string, unless its backslash is one that ends a key.
    else if (text.charCodeAt(at - 3) === backslash) return undefined;
  }
  return count;
}

/** Paths (`spec.containers[0].name`) of members that repeat, at most `limit`. The text must be valid JSON. */
export function duplicateKeys(text: string, limit: number): string[] {
  const found: string[] = [];
  const frames: Frame[] = [];
  let expectsKey = false;
  for (let at = 0; at < text.length && found.length < limit; at++) {
    const code = text.charCodeAt(at);
    const top = frames.at(-1);
    if (code === quote) {
      const end = endOfString(text, at) ?? text.length;
      if (expectsKey && top?.keys !== undefined) {
        const raw = text.slice(at, end);
        top.key = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
        if (!addKey(top, top.key)) found.push(pathOf(frames));
        expectsKey = false;
      }
      at = end - 1;
    } else if (code === 123 || code === 91) {
      expectsKey = code === 123;
      frames.push({ keys: expectsKey ? [] : undefined, key: '', index: 0 });
    } else if (code === 125 || code === 93) {
      frames.pop();
      expectsKey = false;
    } else if (code === 44 && top !== undefined) {
      expectsKey = top.keys !== undefined;
      top.index++;
    }
  }
  return found;
}
