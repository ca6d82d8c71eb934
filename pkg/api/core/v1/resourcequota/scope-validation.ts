/** Rules of which pods a quota counts. */

import { isStandardResource } from '#api/core/v1/resource-names.js';
import type { ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const podCounts = ['pods', 'count/pods'];
const compute = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];

/** Scopes, and what may be counted in each. */
const countable: Readonly<Record<string, readonly string[]>> = {
  BestEffort: podCounts,
  CrossNamespacePodAffinity: [...podCounts, ...compute],
  NotBestEffort: [...podCounts, ...compute],
  NotTerminating: [...podCounts, ...compute],
  PriorityClass: [...podCounts, ...compute],
  Terminating: [...podCounts, ...compute],
};

const conflicts = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

export function validateScopes(spec: ResourceQuotaSpec, path: FieldPath): FieldFailure[] {
  const scopes = spec.scopes ?? [];
  const at = path.child('scopes');
  return [
    ...scopes.flatMap((scope) => validateScope(scope, spec, { path: at, value: scopes, named: at })),
    ...validateConflicts(scopes, at),
    ...validateSelector(spec, path.child('scopeSelector')),
  ];
}

interface Scoped {
  readonly path: FieldPath;
  readonly value: unknown;
  /** Where the scope itself is written. */
  readonly named: FieldPath;
}

function validateScope(scope: string, spec: ResourceQuotaSpec, { path, value, named }: Scoped): FieldFailure[] {
  const resources = Object.hasOwn(countable, scope) ? countable[scope] : undefined;
  if (resources === undefined) return [invalidValue(named, named === path ? value : scope, 'unsupported scope')];
  const other = Object.keys(spec.hard ?? {}).some((name) => isStandardResource(name) && !resources.includes(name));
  return other ? [invalidValue(path, value, 'unsupported scope applied to resource')] : [];
}

function validateConflicts(scopes: string[], path: FieldPath): FieldFailure[] {
  return conflicts
    .filter((pair) => pair.every((scope) => scopes.includes(scope)))
    .map(() => invalidValue(path, scopes, 'conflicting scopes'));
}

function validateSelector(spec: ResourceQuotaSpec, path: FieldPath): FieldFailure[] {
  const selector = spec.scopeSelector;
  if (selector === undefined) return [];
  const list = path.child('matchExpressions');
  const expressions = selector.matchExpressions ?? [];
  const failures = expressions.flatMap((expression, i) => {
    const at = list.index(i);
    return [
      ...validateScope(expression.scopeName ?? '', spec, { path: at, value: selector, named: at.child('scopeName') }),
      ...validateExpression(expression, at),
    ];
  });
  return [
    ...failures,
    ...validateConflicts(
      expressions.map((expression) => expression.scopeName),
      list,
    ),
  ];
}

function validateExpression(expression: ScopedResourceSelectorRequirement, path: FieldPath): FieldFailure[] {
  const { scopeName = '', operator = '', values = [] } = expression;
  const failures: FieldFailure[] = [];
  if (scopeName !== 'PriorityClass' && Object.hasOwn(countable, scopeName) && operator !== 'Exists') {
    const text =
      "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    failures.push(invalidValue(path.child('operator'), operator, text));
  }
  const at = path.child('values');
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length > 0) return failures;
    return [
      ...failures,
      required(at, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"),
    ];
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length === 0) return failures;
    const text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    return [...failures, invalidValue(at, values, text)];
  }
  return [...failures, invalidValue(path.child('operator'), operator, 'not a valid selector operator')];
}
