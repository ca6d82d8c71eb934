/** JSON as Go's encoder writes maps: sorted keys, and no characters that could end a script element. Pure. */
import { toJSONText } from '#apimachinery/json-text.js';

const special = /[<>&\u2028\u2029]/g;

/** @param indent Spaces for each level; absent: one line. */
export function goJSON(value: unknown, indent?: number): string {
  return escaped(toJSONText(sorted(value), indent));
}

/** The text of a JSON document with Go's escapes. */
export function escaped(json: string): string {
  return json.replaceAll(special, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isPlain(value)) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, sorted(member)]));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !('toJSON' in value);
}
