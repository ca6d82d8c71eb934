/** Rules of quota scopes. */

import { isStandardQuotaResource } from '#api/core/v1/resources/names.js';
import type { ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, required, Strings } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const podCounts = ['pods'];
const compute = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];

/** Resources that can be counted in each scope. */
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
  const uncounted = uncountedIn(spec);
  return [
    ...scopes.flatMap((scope) => [
      ...(isScope(scope) ? [] : [invalidValue(at, shown(scopes), 'unsupported scope')]),
      ...validateCountable(uncounted(scope), shown(scopes), at),
    ]),
    ...validateConflicts(scopes, spec, at),
    ...validateSelector(spec, path.child('scopeSelector', 'matchExpressions')),
  ];
}

function isScope(scope: string): boolean {
  return Object.hasOwn(countable, scope);
}

/** The number of a quota's resources that a scope cannot count. Cached per scope, since lists may repeat scopes. */
function uncountedIn({ hard = {} }: ResourceQuotaSpec): (scope: string) => number {
  const names = Object.keys(hard).filter((name) => isStandardQuotaResource(name));
  const counts = new Map<string, number>();
  return (scope) => {
    const resources = isScope(scope) ? countable[scope] : undefined;
    if (resources === undefined) return 0;
    const count = counts.get(scope) ?? names.filter((name) => !resources.includes(name)).length;
    counts.set(scope, count);
    return count;
  };
}

/** One failure for each of the `count` resources that the scope cannot count. */
function validateCountable(count: number, value: unknown, path: FieldPath): FieldFailure[] {
  return Array.from({ length: count }, () => invalidValue(path, value, 'unsupported scope applied to resource'));
}

function validateConflicts(scopes: readonly string[], spec: ResourceQuotaSpec, path: FieldPath): FieldFailure[] {
  return conflicts
    .filter((pair) => pair.every((scope) => scopes.includes(scope)))
    .map(() => invalidValue(path, shown(spec.scopes ?? []), 'conflicting scopes'));
}

/** The path is that of the expressions: 1.24 does not report the index. */
function validateSelector(spec: ResourceQuotaSpec, path: FieldPath): FieldFailure[] {
  const selector = spec.scopeSelector;
  if (selector === undefined) return [];
  const expressions = selector.matchExpressions ?? [];
  const uncounted = uncountedIn(spec);
  const failures = expressions.flatMap((expression) => {
    const scope = expression.scopeName ?? '';
    return [
      ...(isScope(scope) ? [] : [invalidValue(path.child('scopeName'), scope, 'unsupported scope')]),
      ...validateCountable(uncounted(scope), coreValues.of('ScopeSelector', selector), path),
      ...validateExpression(expression, path),
    ];
  });
  const scopes = expressions.map((expression) => expression.scopeName);
  return [...failures, ...validateConflicts(scopes, spec, path)];
}

function validateExpression(expression: ScopedResourceSelectorRequirement, path: FieldPath): FieldFailure[] {
  const { scopeName = '', operator = '', values = [] } = expression;
  const failures: FieldFailure[] = [];
  if (scopeName !== 'PriorityClass' && isScope(scopeName) && operator !== 'Exists') {
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

function shown(scopes: readonly string[]): Strings {
  return new Strings(scopes, 'core.ResourceQuotaScope');
}
