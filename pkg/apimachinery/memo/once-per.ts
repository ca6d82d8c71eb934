import type { Dialect } from '#apimachinery/dialect.js';

/** A value derived from a dialect, such as names with its domain, computed once per dialect. */
export function perDialect<T extends NonNullable<unknown>>(make: (dialect: Dialect) => T): (dialect: Dialect) => T {
  return oncePer(make);
}

/** A value derived from an immutable object (a dialect, a type, a field), cached as long as the object lives. */
export function oncePer<K extends object, T extends {}>(make: (key: K) => T): (key: K) => T {
  const values = new WeakMap<K, T>();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) {
      value = make(key);
      values.set(key, value);
    }
    return value;
  };
}
