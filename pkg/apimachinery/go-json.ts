/**
 * JSON as Go's encoder writes maps: members sorted by name, absent ones omitted, and three characters escaped for HTML.
 */

/** For values that are compared byte by byte. */
export function goJson(value: unknown): string {
  return escapeHtml(JSON.stringify(sorted(value)));
}

/** Applies the same escapes to JSON text: there these characters occur only in strings. */
export function escapeHtml(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}
