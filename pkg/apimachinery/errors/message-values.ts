/** Formats values in error messages: complete unless they are very long. */
import { toJSONText } from '#apimachinery/json-text.js';

/** Approximate maximum of characters per value; `…` replaces the rest. */
const maxShown = 16 * 1024;

const ellipsis = '…';

/** The text, truncated to `max` characters. */
export function cut(text: string, max = maxShown): string {
  if (text.length <= max) return text;
  // Does not split a surrogate pair.
  const last = text.charCodeAt(max - 1);
  return `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max)}${ellipsis}`;
}

/** Base64 bytes in Go's syntax for slice elements: `0x61, 0x0`. Not truncated. */
export function hexBytes(base64: string): string {
  return [...Buffer.from(base64, 'base64')].map((byte) => `0x${byte.toString(16)}`).join(', ');
}

/** Printable characters (Go's `unicode.IsPrint`). */
const printable = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** True for letters, marks, digits, punctuation, symbols and the space. */
export function isPrintable(character: string): boolean {
  return printable.test(character);
}

/** The quoted text as in messages of 1.24 (Go's `%q`), truncated if long. */
export function quoted(text: string): string {
  const shown = cut(text);
  if (/^[ !#-[\]-~]*$/.test(shown)) return `"${shown}"`;
  let result = '"';
  for (const character of shown)
    result += escapes[character] ?? (isPrintable(character) ? character : escaped(character));
  return `${result}"`;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  // A lone surrogate becomes the replacement character.
  if (code >= 0xd800 && code < 0xe000) return '\ufffd';
  return code < 0x1_0000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
}

/** The value's JSON, truncated. The time is bounded even for huge values. */
export function shownJson(value: unknown): string | undefined {
  if (typeof value === 'string') return JSON.stringify(cut(value));
  if (value === undefined) return undefined;
  if (typeof value !== 'object' || value === null) return toJSONText(value);
  return toJSONText(beginning(value, { left: maxShown }));
}

/** The first parts of a value within `budget` characters. */
function beginning(value: unknown, budget: { left: number }): unknown {
  if (typeof value === 'string') {
    const text = cut(value, Math.max(budget.left, 0));
    budget.left -= text.length + 2;
    return text;
  }
  budget.left -= 4;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const element of value) {
      if (budget.left <= 0) {
        list.push(ellipsis);
        break;
      }
      list.push(beginning(element, budget));
    }
    return list;
  }
  const object: Record<string, unknown> = {};
  for (const key in value) {
    const name = budget.left > 0 ? cut(key, budget.left) : ellipsis;
    const part: unknown = budget.left > 0 ? (value as Record<string, unknown>)[key] : ellipsis;
    budget.left -= name.length + 3;
    Object.defineProperty(object, name, {
      value: beginning(part, budget),
      enumerable: true,
      writable: true,
      configurable: true,
    });
    if (name === ellipsis) break;
  }
  return object;
}
