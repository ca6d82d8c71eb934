/** Labels of nodes that have newer names, and what to tell who still uses them. */
import type { NodeSelectorTerm } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { perDialect } from '#apimachinery/memo/per-dialect.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const replacements = perDialect(
  ({ labels, labelDomain }): ReadonlyMap<string, { readonly since: string; readonly instead: string }> =>
    new Map([
      [labels.betaArch, { since: 'v1.14', instead: labels.arch }],
      [labels.betaOS, { since: 'v1.14', instead: labels.os }],
      [`failure-domain.beta.${labelDomain}/region`, { since: 'v1.17', instead: labels.region }],
      [`failure-domain.beta.${labelDomain}/zone`, { since: 'v1.17', instead: labels.zone }],
      [`beta.${labelDomain}/instance-type`, { since: 'v1.17', instead: labels.instanceType }],
    ]),
);

/** `deprecated since …; use … instead`, undefined for labels that are not deprecated. */
function deprecatedNodeLabel(key: string, dialect: Dialect): string | undefined {
  const found = replacements(dialect).get(key);
  return found === undefined ? undefined : `deprecated since ${found.since}; use "${found.instead}" instead`;
}

/** Warnings of the keys of a map of labels. */
export function nodeLabelWarnings(
  labels: Readonly<Record<string, string>> | undefined,
  dialect: Dialect,
  path: FieldPath,
): string[] {
  const warnings: string[] = [];
  for (const key in labels) {
    const text = deprecatedNodeLabel(key, dialect);
    if (text !== undefined) warnings.push(`${path.key(key)}: ${text}`);
  }
  return warnings;
}

/** Warning of one key that a field names. */
export function nodeKeyWarnings(key: string | undefined, dialect: Dialect, path: FieldPath): string[] {
  const text = key === undefined ? undefined : deprecatedNodeLabel(key, dialect);
  return text === undefined ? [] : [`${path}: ${key} is ${text}`];
}

/** Warnings of the expressions of a node selector's term. */
export function nodeSelectorTermWarnings(
  term: NodeSelectorTerm | undefined,
  dialect: Dialect,
  path: FieldPath,
): string[] {
  return (term?.matchExpressions ?? []).flatMap(({ key }, i) =>
    nodeKeyWarnings(key, dialect, path.child('matchExpressions').index(i).child('key')),
  );
}
