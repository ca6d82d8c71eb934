/** Whether two JSON values are the same and have their members in the same order, so that their JSON is the same too. */
export function identicalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!identicalJson(a[i], b[i])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  const others = Object.keys(b);
  let place = 0;
  for (const name in a) {
    if (name !== others[place++]) return false;
    if (!identicalJson((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name])) return false;
  }
  return place === others.length;
}
