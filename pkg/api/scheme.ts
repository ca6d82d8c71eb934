/** The scheme of all built-in kinds, in each dialect. */
import { goTypes } from '#api/go/go-types.js';
import { groupVersions } from '#api/scheme.gen.js';
import { perDialect } from '#apimachinery/memo/per-dialect.js';
import { Scheme } from '#apimachinery/schema/scheme.js';

/**
 * The scheme of the built-in kinds under a dialect's names; always the same immutable object. Made when first asked for: a
 * process seldom needs both.
 */
export const schemeFor = perDialect((dialect) => new Scheme(dialect, groupVersions, goTypes));
