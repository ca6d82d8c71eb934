/** Deep copies of plain JSON values: several times faster than `structuredClone` or the way through a text. */
import type { Draft } from '#apimachinery/draft.js';

/** Members that are `undefined` are left out, as JSON does. Not for anything with a prototype of its own. */
export function copyJson<T>(value: T): Draft<T> {
  if (typeof value !== 'object' || value === null) return value as Draft<T>;
  if (Array.isArray(value)) return copyList(value) as Draft<T>;
  const copy: Record<string, unknown> = {};
  // Without a list of the names: plain values have no others than their own.
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    // Assigning it would set the prototype instead.
    if (key === '__proto__') define(copy, copyJson(member));
    else copy[key] = typeof member === 'object' ? copyJson(member) : member;
  }
  return copy as Draft<T>;
}

function copyList(list: readonly unknown[]): unknown[] {
  const copy: unknown[] = [];
  for (const element of list) copy.push(typeof element === 'object' ? copyJson(element) : element);
  return copy;
}

function define(object: object, value: unknown): void {
  Object.defineProperty(object, '__proto__', { value, writable: true, enumerable: true, configurable: true });
}
