/**
 * Equality of API values. As on the wire, an absent field equals an empty list, but not an empty object: an empty
 * selector selects everything, an absent one nothing. Identical objects are not traversed.
 */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const empty = isEmpty(a);
  if (empty || isEmpty(b)) return empty && isEmpty(b);
  if (typeof a !== 'object' || typeof b !== 'object') return Number.isNaN(a) && Number.isNaN(b);
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && equalLists(a, b);
  return equalObjects(a as Record<string, unknown>, b as Record<string, unknown>);
}

function equalLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!semanticEqual(a[i], b[i])) return false;
  return true;
}

function equalObjects(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const keys = Object.keys(a);
  const others = Object.keys(b);
  // While the keys of both are in the same order, as in two versions of an object, no lookup is needed.
  let inStep = keys.length === others.length;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    inStep &&= key === others[i];
    // Keys come from clients, and every object inherits `constructor`.
    if (!semanticEqual(a[key], inStep || Object.hasOwn(b, key) ? b[key] : undefined)) return false;
  }
  return inStep || others.every((key) => Object.hasOwn(a, key) || isEmpty(b[key]));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** Whether both have identical items in the same order. */
export function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
