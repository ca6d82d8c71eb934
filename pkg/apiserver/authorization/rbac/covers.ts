/** Whether somebody who has some rules already has all rights of others: nobody may hand out more than they have. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';

const all = '*';

/** The parts of `wanted` that `owned` does not cover, each with one verb, group and resource; empty when all are covered. */
export function uncoveredRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(atoms).filter((atom) => !owned.some((rule) => covers(rule, atom)));
}

/** The product of a rule's lists: rules that each speak of one thing. */
function atoms(rule: PolicyRule): PolicyRule[] {
  const found: PolicyRule[] = [];
  for (const group of rule.apiGroups ?? [])
    for (const resource of rule.resources ?? [])
      for (const verb of rule.verbs) {
        const names = rule.resourceNames ?? [];
        if (names.length === 0) found.push({ apiGroups: [group], resources: [resource], verbs: [verb] });
        for (const name of names)
          found.push({ apiGroups: [group], resources: [resource], verbs: [verb], resourceNames: [name] });
      }
  for (const url of rule.nonResourceURLs ?? [])
    for (const verb of rule.verbs) found.push({ nonResourceURLs: [url], verbs: [verb] });
  return found;
}

function covers(owner: PolicyRule, atom: PolicyRule): boolean {
  if (!includes(owner.verbs, atom.verbs[0])) return false;
  const url = atom.nonResourceURLs?.[0];
  if (url !== undefined) return (owner.nonResourceURLs ?? []).some((pattern) => coversPath(pattern, url));
  const names = owner.resourceNames ?? [];
  const name = atom.resourceNames?.[0];
  return (
    includes(owner.apiGroups ?? [], atom.apiGroups?.[0]) &&
    coversResource(owner.resources ?? [], atom.resources?.[0] ?? '') &&
    (names.length === 0 || (name !== undefined && names.includes(name)))
  );
}

function includes(values: readonly string[], wanted: string | undefined): boolean {
  return values.includes(all) || (wanted !== undefined && values.includes(wanted));
}

function coversResource(owned: readonly string[], wanted: string): boolean {
  if (includes(owned, wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash >= 0 && owned.includes(`*${wanted.slice(slash)}`);
}

/** A wanted pattern is covered when the owner's pattern covers all that it could match. */
function coversPath(owned: string, wanted: string): boolean {
  return owned === wanted || (owned.endsWith(all) && wanted.startsWith(owned.slice(0, -1)));
}
