import type { Dialect } from '#apimachinery/dialect.js';

/** What is derived from a dialect (names with its domain in them, mostly), made once for each dialect and kept. */
export function perDialect<T>(make: (dialect: Dialect) => T): (dialect: Dialect) => T {
  const made = new WeakMap<Dialect, T>();
  return (dialect) => {
    let value = made.get(dialect);
    if (value === undefined) {
      value = make(dialect);
      made.set(dialect, value);
    }
    return value;
  };
}
