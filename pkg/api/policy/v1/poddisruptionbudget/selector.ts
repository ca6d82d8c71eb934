/** The label in converted selectors that have different meanings in the versions of disruption budgets. */
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

export function deprecatedSelectorLabel({ labelDomain }: Dialect): string {
  return `pdb.${labelDomain}/deprecated-v1beta1-empty-selector-match`;
}

/**
 * The label has a meaning only if it is alone: it is removed next to other requirements, so that it cannot be used as a
 * real label. Returns the same selector if there is nothing to remove.
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
