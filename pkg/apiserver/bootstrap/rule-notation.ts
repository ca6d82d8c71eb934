/** A short notation of policy rules for the tables of default roles. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import { type Dialect, type GroupKey, groupKeys } from '#apimachinery/dialect.js';

/**
 * `verbs | groups | resources | names` (names are optional) or `verbs | /paths`; items are separated by blanks.
 * Groups are dialect-neutral (`core`, `apps`, `storage`); `*` stays.
 *
 *     'get list | core apps | pods deployments/scale'
 *     'get | /healthz /livez'
 */
export function rule(dialect: Dialect, text: string): PolicyRule {
  const [verbs = '', second = '', resources, names] = text.split('|').map((part) => part.trim());
  const items = (part: string) => part.split(/\s+/);
  if (resources === undefined) return { verbs: items(verbs), nonResourceURLs: items(second) };
  return {
    verbs: items(verbs),
    apiGroups: items(second).map((group) => groupName(dialect, group)),
    resources: items(resources),
    ...(names === undefined ? {} : { resourceNames: items(names) }),
  };
}

function groupName(dialect: Dialect, group: string): string {
  if (group === '*') return group;
  const key = groupKeys.find((each) => each === group);
  // Groups of extension servers (metrics) are in the same domain.
  return key === undefined ? `${group}.${dialect.apiDomain}` : dialect.groupName(key satisfies GroupKey);
}
