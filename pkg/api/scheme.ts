/** The scheme of all built-in kinds, in each dialect. */
import { groupVersions } from '#api/scheme.gen.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { Scheme } from '#apimachinery/schema/scheme.js';

const schemes: Readonly<Record<Dialect['name'], Scheme>> = Object.freeze({
  orch: new Scheme(orchDialect, groupVersions),
  kubernetes: new Scheme(kubernetesDialect, groupVersions),
});

/** The scheme of the built-in kinds under a dialect's names; always the same immutable object. */
export function schemeFor(dialect: Dialect): Scheme {
  return schemes[dialect.name];
}
