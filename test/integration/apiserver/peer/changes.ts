/** Differences between two values. */

/**
 * By place, the value in `after`; null marks removed values, and `{ null: true }` a null. Lists of equal length are compared
 * by element, others replaced. Pure.
 */
export function changes(before: unknown, after: unknown): Readonly<Record<string, unknown>> {
  const result: [string, unknown][] = [];
  collect(before, after, '', result);
  return Object.fromEntries(result.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function collect(before: unknown, after: unknown, path: string, result: [string, unknown][]): void {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    for (const [i, element] of after.entries()) collect(before[i], element, `${path}[${i}]`, result);
  } else if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      collect(before[name], after[name], path === '' ? name : `${path}.${name}`, result);
    }
  } else if (JSON.stringify(before) !== JSON.stringify(after)) {
    result.push([path, after === undefined ? null : after === null ? { null: true } : sorted(after)]);
  }
}

/** With sorted members, so that equal values have equal texts. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, sorted(member)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
