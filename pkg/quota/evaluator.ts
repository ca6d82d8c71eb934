/**
 * What quotas know of the objects that they count: one evaluator for each resource. Both who admits objects and who counts
 * them again use these, so that they never differ. Pure. Rules as of release 1.24 (pkg/quota/v1/evaluator/core).
 */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';

export interface QuotaEvaluator {
  /** True for names of `spec.hard` that say how much there may be of these objects. A name is that of one evaluator only. */
  counts(name: string): boolean;
  /** What the object uses, by all names that quotas may count it under. `nowMs`: milliseconds since the epoch. */
  usage(object: ApiObjectShape, nowMs: number): ResourceList;
  /** Whether the object lies within the scope. */
  isWithin(object: ApiObjectShape, scope: ScopedResourceSelectorRequirement): boolean;
  /** True: a quota of a scope that these objects can be in need not be one for them. */
  readonly scoped: boolean;
  /** What the object would have to say where these names are limited, and does not; undefined: it says all of it. */
  missing(object: ApiObjectShape, names: readonly string[]): string | undefined;
  /** Whether the change of an object may make it use more of some quota. */
  mayUseMore(object: ApiObjectShape, old: ApiObjectShape): boolean;
}

/** All scopes that an object must be in to be counted by the quota. */
export function scopesOf({ spec }: ResourceQuota): readonly ScopedResourceSelectorRequirement[] {
  const plain = (spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' }));
  return [...plain, ...(spec.scopeSelector?.matchExpressions ?? [])];
}

/** Whether the quota counts the object. Only what `status.hard` names is enforced: what is in use is known of that. */
export function isCounted(evaluator: QuotaEvaluator, quota: ResourceQuota, object: ApiObjectShape): boolean {
  const names = Object.keys(quota.status?.hard ?? {});
  return (
    names.some((name) => evaluator.counts(name)) && scopesOf(quota).every((scope) => evaluator.isWithin(object, scope))
  );
}
