/** The scheme of all built-in kinds in each dialect. */
import { goTypes } from '#api/go/go-types.js';
import { groupVersions } from '#api/scheme.gen.js';
import { perDialect } from '#apimachinery/memo/once-per.js';
import { Scheme } from '#apimachinery/schema/scheme.js';

/**
 * The scheme of the built-in kinds with a dialect's names; always the same immutable object. Created on first use,
 * since a process seldom needs both.
 */
export const schemeFor = perDialect((dialect) => new Scheme(dialect, groupVersions, goTypes));
