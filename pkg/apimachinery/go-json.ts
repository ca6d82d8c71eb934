/** JSON as Go's encoder writes maps: members sorted by name, without what is absent, and three characters escaped for HTML. */

/** For values whose bytes others compare. */
export function goJson(value: unknown): string {
  return escapeHtml(JSON.stringify(sorted(value)));
}

/** The same escapes in a text of JSON: where these characters stand, they are part of strings. */
export function escapeHtml(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}
