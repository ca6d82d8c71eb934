import type { Dialect } from '#apimachinery/dialect.js';
import { oncePer } from '#apimachinery/memo/once-per.js';

/** What is derived from a dialect (names with its domain in them, mostly), made once for each dialect and kept. */
export function perDialect<T extends NonNullable<unknown>>(make: (dialect: Dialect) => T): (dialect: Dialect) => T {
  return oncePer(make);
}
