/** Looks up JSON values among others: each as fast in a list of thousands as in one of few. */
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { toJSONText } from '#apimachinery/json-text.js';

/** JSON values as keys of maps and sets: equal ones (`jsonEqual`) have the same key. */
export class Identities {
  /** Scalars are their own keys; of what has parts each has an object. */
  readonly #composed = new Map<string, object>();

  keyOf(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const text = canonical(value);
    const known = this.#composed.get(text);
    if (known !== undefined) return known;
    const key = {};
    this.#composed.set(text, key);
    return key;
  }

  /** At which index each value comes first, by its key. */
  firstIndexes(values: readonly unknown[]): ReadonlyMap<unknown, number> {
    const indexes = new Map<unknown, number>();
    for (let i = 0; i < values.length; i++) {
      const key = this.keyOf(values[i]);
      if (!indexes.has(key)) indexes.set(key, i);
    }
    return indexes;
  }
}

/** JSON with the members of objects in order, and without those that are undefined. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return toJSONText(value);
  const members = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${members
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join()}}`;
}
