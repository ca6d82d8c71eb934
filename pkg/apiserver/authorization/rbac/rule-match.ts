/** Whether a rule allows a request. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';

const all = '*';

export type MatchedAttributes = Omit<AuthorizationAttributes, 'user' | 'version'>;

export function ruleAllows(rule: PolicyRule, attributes: MatchedAttributes): boolean {
  if (!has(rule.verbs, attributes.verb)) return false;
  if (!attributes.resourceRequest) return pathMatches(rule.nonResourceURLs ?? [], attributes.path);
  return (
    has(rule.apiGroups ?? [], attributes.group) &&
    resourceMatches(rule.resources ?? [], attributes.resource, attributes.subresource) &&
    nameMatches(rule.resourceNames ?? [], attributes.name)
  );
}

/** A part of a rule, by the field that would have to name more. */
export type RulePart = 'verbs' | 'apiGroups' | 'resources' | 'resourceNames' | 'nonResourceURLs';

/** The parts that keep the rule from allowing the request; undefined for a rule about the other sort of requests. */
export function unmatchedParts(rule: PolicyRule, attributes: MatchedAttributes): RulePart[] | undefined {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const { resourceRequest, verb, group, resource, subresource, name, path } = attributes;
  if ((resourceRequest ? resources : nonResourceURLs).length === 0) return undefined;
  const matched: Partial<Record<RulePart, boolean>> = resourceRequest
    ? {
        verbs: has(verbs, verb),
        apiGroups: has(apiGroups, group),
        resources: resourceMatches(resources, resource, subresource),
        resourceNames: nameMatches(resourceNames, name),
      }
    : { verbs: has(verbs, verb), nonResourceURLs: pathMatches(nonResourceURLs, path) };
  return (Object.keys(matched) as RulePart[]).filter((part) => matched[part] === false);
}

function has(values: readonly string[], value: string): boolean {
  return values.includes(all) || values.includes(value);
}

/** A rule names `pods`, `pods/log`, or a star with a subresource for that subresource of every resource. */
function resourceMatches(rules: readonly string[], resource: string, subresource: string): boolean {
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  if (has(rules, whole)) return true;
  return subresource !== '' && rules.includes(`*/${subresource}`);
}

/** Without names the rule applies to all objects. */
function nameMatches(names: readonly string[], value: string): boolean {
  return names.length === 0 || names.includes(value);
}

/** A trailing `*` matches every path with that prefix. */
function pathMatches(patterns: readonly string[], path: string): boolean {
  return patterns.some(
    (pattern) => pattern === path || (pattern.endsWith(all) && path.startsWith(pattern.slice(0, -1))),
  );
}
