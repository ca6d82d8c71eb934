/**
 * The interface of quota evaluators, one per resource. Admission and the resource quota controller share them, so that
 * both count alike. Pure. Rules of release 1.24 (pkg/quota/v1/evaluator/core).
 */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';

export interface QuotaEvaluator {
  /** Whether the name in `spec.hard` limits these objects. Each name belongs to one evaluator. */
  counts(name: string): boolean;
  /** The object's usage, by all names that quotas may count. `nowMs`: milliseconds since the epoch. */
  usage(object: ApiObjectShape, nowMs: number): ResourceList;
  /** Whether the object lies within the scope. */
  isWithin(object: ApiObjectShape, scope: ScopedResourceSelectorRequirement): boolean;
  /** Whether scopes can apply to these objects. */
  readonly scoped: boolean;
  /** Describes required requests and limits that the object lacks when these names are limited; undefined if none. */
  missing(object: ApiObjectShape, names: readonly string[]): string | undefined;
  /** Whether an update may increase the object's usage. */
  mayUseMore(object: ApiObjectShape, old: ApiObjectShape): boolean;
}

/** The scopes of a quota, from both of its fields. */
export function scopesOf({ spec }: ResourceQuota): readonly ScopedResourceSelectorRequirement[] {
  const plain = (spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' }));
  return [...plain, ...(spec.scopeSelector?.matchExpressions ?? [])];
}

/** Whether the quota counts the object. Only names in `status.hard` are enforced, because their usage is recorded. */
export function isCounted(evaluator: QuotaEvaluator, quota: ResourceQuota, object: ApiObjectShape): boolean {
  const names = Object.keys(quota.status?.hard ?? {});
  return (
    names.some((name) => evaluator.counts(name)) && scopesOf(quota).every((scope) => evaluator.isWithin(object, scope))
  );
}
