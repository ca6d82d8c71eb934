/** The scheme of all built-in kinds, in each dialect. */
import { groupVersions } from '#api/scheme.gen.js';
import type { Dialect, DialectName } from '#apimachinery/dialect.js';
import { Scheme } from '#apimachinery/schema/scheme.js';

/** Made when first asked for: a process seldom needs both. */
const schemes = new Map<DialectName, Scheme>();

/** The scheme of the built-in kinds under a dialect's names; always the same immutable object. */
export function schemeFor(dialect: Dialect): Scheme {
  let scheme = schemes.get(dialect.name);
  if (scheme === undefined) {
    scheme = new Scheme(dialect, groupVersions);
    schemes.set(dialect.name, scheme);
  }
  return scheme;
}
