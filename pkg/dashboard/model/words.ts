/** Words of pages. Pure. */
import type { Kind } from '#dashboard/model/catalog.js';

/** `pods` of kind Pod is Pods, `networkpolicies` of NetworkPolicy is NetworkPolicies. */
export function pluralOf({ kind, resource }: Pick<Kind, 'kind' | 'resource'>): string {
  const lower = kind.toLowerCase();
  let common = 0;
  while (common < lower.length && lower[common] === resource[common]) common++;
  return kind.slice(0, common) + resource.slice(common);
}
