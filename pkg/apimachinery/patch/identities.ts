/** Hash lookup of JSON values, so that long lists stay fast. */
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { toJSONText } from '#apimachinery/json-text.js';

/** Keys for maps and sets: values that are equal by `jsonEqual` have the same key. */
export class Identities {
  /** Scalars are their own keys; each distinct object or list gets a key object. */
  readonly #composed = new Map<string, object>();

  keyOf(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const text = canonical(value);
    const existing = this.#composed.get(text);
    if (existing !== undefined) return existing;
    const key = {};
    this.#composed.set(text, key);
    return key;
  }

  /** The first index of each value, by key. */
  firstIndexes(values: readonly unknown[]): ReadonlyMap<unknown, number> {
    const indexes = new Map<unknown, number>();
    for (let i = 0; i < values.length; i++) {
      const key = this.keyOf(values[i]);
      if (!indexes.has(key)) indexes.set(key, i);
    }
    return indexes;
  }
}

/** JSON with sorted members, without undefined ones. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return toJSONText(value);
  const members = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${members
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join()}}`;
}
