/** The strategies of roles and cluster roles. */
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import { clusterroles, roles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, PolicyRule, Role } from '#api/rbac/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import { addAll, invalidValue, joined, required } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const rulesPath = FieldPath.of('rules');

export const roleStrategy: Strategy<Role> = kindStrategy<Role>(roles, {
  name: pathSegmentErrors,
  allowCreateOnUpdate: true,
  validate: (role) => validateRules(role.rules, true),
  cells: (role) => [role.metadata.name ?? '', role.metadata.creationTimestamp ?? ''],
});

export const clusterRoleStrategy: Strategy<ClusterRole> = kindStrategy<ClusterRole>(clusterroles, {
  name: pathSegmentErrors,
  allowCreateOnUpdate: true,
  validate: (role) => joined(validateRules(role.rules, false), validateAggregation(role)),
  cells: (role) => [role.metadata.name ?? '', role.metadata.creationTimestamp ?? ''],
});

function validateRules(rules: readonly PolicyRule[] | undefined, namespaced: boolean): FieldFailure[] {
  const failures: FieldFailure[] = [];
  rules?.forEach((rule, i) => {
    addAll(failures, validatePolicyRule(rule, namespaced, rulesPath.index(i)));
  });
  return failures;
}

/** A rule is about resources, or, in cluster roles, about URLs. */
function validatePolicyRule(rule: PolicyRule, namespaced: boolean, path: FieldPath): FieldFailure[] {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const failures: FieldFailure[] = [];
  if (verbs.length === 0) failures.push(required(path.child('verbs'), 'verbs must contain at least one value'));
  if (nonResourceURLs.length > 0) {
    const at = path.child('nonResourceURLs');
    if (namespaced) {
      failures.push(invalidValue(at, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'));
    }
    if (apiGroups.length > 0 || resources.length > 0 || resourceNames.length > 0) {
      const text = 'rules cannot apply to both regular resources and non-resource URLs';
      failures.push(invalidValue(at, nonResourceURLs, text));
    }
    return failures;
  }
  if (apiGroups.length === 0) {
    failures.push(required(path.child('apiGroups'), 'resource rules must supply at least one api group'));
  }
  if (resources.length === 0) {
    failures.push(required(path.child('resources'), 'resource rules must supply at least one resource'));
  }
  return failures;
}

function validateAggregation(role: ClusterRole): FieldFailure[] {
  if (role.aggregationRule === undefined) return [];
  const path = FieldPath.of('aggregationRule', 'clusterRoleSelectors');
  const selectors = role.aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    return [required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  return selectors.flatMap((selector, i) => {
    const at = path.index(i);
    const failures = validateLabelSelector(selector, at);
    if (compileSelector(selector) !== undefined) return failures;
    // 1.24 shows the failed conversion, which is nil.
    return [...failures, invalidValue(at, undefined, 'invalid label selector.')];
  });
}
