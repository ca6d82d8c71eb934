/** Labels of nodes that have newer names, and what to tell who still uses them. */
import type { NodeSelectorTerm } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** `deprecated since …; use … instead`, undefined for labels that are not deprecated. */
export function deprecatedNodeLabel(key: string, dialect: Dialect): string | undefined {
  const { labels, labelDomain } = dialect;
  const replaced: Readonly<Record<string, readonly [since: string, instead: string]>> = {
    [labels.betaArch]: ['v1.14', labels.arch],
    [labels.betaOS]: ['v1.14', labels.os],
    [`failure-domain.beta.${labelDomain}/region`]: ['v1.17', labels.region],
    [`failure-domain.beta.${labelDomain}/zone`]: ['v1.17', labels.zone],
    [`beta.${labelDomain}/instance-type`]: ['v1.17', labels.instanceType],
  };
  const found = Object.hasOwn(replaced, key) ? replaced[key] : undefined;
  return found === undefined ? undefined : `deprecated since ${found[0]}; use "${found[1]}" instead`;
}

/** Warnings of the keys of a map of labels. */
export function nodeLabelWarnings(
  labels: Readonly<Record<string, string>> | undefined,
  dialect: Dialect,
  path: FieldPath,
): string[] {
  return Object.keys(labels ?? {}).flatMap((key) => {
    const text = deprecatedNodeLabel(key, dialect);
    return text === undefined ? [] : [`${path.key(key)}: ${text}`];
  });
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
