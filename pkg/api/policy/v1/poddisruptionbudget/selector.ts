/** The label by which versions of disruption budgets tell each other of selectors that mean different things in them. */
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

export function deprecatedSelectorLabel({ labelDomain }: Dialect): string {
  return `pdb.${labelDomain}/deprecated-v1beta1-empty-selector-match`;
}

/**
 * The label means something alone only: beside anything else it is taken out, so that it cannot be used as one. The same
 * selector where there is nothing to take out.
 */
export function withoutDeprecatedLabel(selector: LabelSelector, dialect: Dialect): LabelSelector {
  const { matchExpressions = [], matchLabels } = selector;
  const label = deprecatedSelectorLabel(dialect);
  const kept = matchExpressions.filter(({ key }) => key !== label);
  const alone = matchExpressions.length === 1 && Object.keys(matchLabels ?? {}).length === 0;
  if (kept.length === matchExpressions.length || (alone && matchExpressions[0]?.operator === 'Exists')) return selector;
  const { matchExpressions: _, ...rest } = selector;
  return kept.length === 0 ? rest : { ...rest, matchExpressions: kept };
}
