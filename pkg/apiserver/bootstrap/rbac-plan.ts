/** What has to change in existing roles and bindings so that they hold at least the defaults. Pure. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  Subject,
} from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { uncoveredRules } from '#apiserver/authorization/rbac/covers.js';

/** The object as it should be stored; undefined when it is good as it is (or its owner turned updates off). */
export function plannedRole<T extends Role | ClusterRole>(wanted: T, found: T, dialect: Dialect): T | undefined {
  if (isProtected(found, dialect)) return undefined;
  const metadata = withMarks(wanted, found);
  const aggregated = 'aggregationRule' in wanted && wanted.aggregationRule !== undefined;
  const lacks = (rule: PolicyRule) => uncoveredRules(found.rules ?? [], [rule]).length > 0;
  const missing = aggregated ? [] : (wanted.rules ?? []).filter(lacks);
  if (metadata === found.metadata && missing.length === 0) return undefined;
  return missing.length === 0
    ? { ...found, metadata }
    : { ...found, metadata, rules: [...(found.rules ?? []), ...missing] };
}

export type BindingPlan<T> =
  | { readonly kind: 'keep' }
  | { readonly kind: 'update'; readonly object: T }
  /** A binding's role cannot be changed. */
  | { readonly kind: 'recreate'; readonly object: T };

export function plannedBinding<T extends RoleBinding | ClusterRoleBinding>(
  wanted: T,
  found: T,
  dialect: Dialect,
): BindingPlan<T> {
  if (isProtected(found, dialect)) return { kind: 'keep' };
  const { roleRef } = found;
  const subjects = withMissing(found.subjects ?? [], wanted.subjects ?? []);
  if (roleRef.kind !== wanted.roleRef.kind || roleRef.name !== wanted.roleRef.name)
    return { kind: 'recreate', object: { ...wanted, subjects } };
  const metadata = withMarks(wanted, found);
  if (metadata === found.metadata && subjects.length === (found.subjects ?? []).length) return { kind: 'keep' };
  return { kind: 'update', object: { ...found, metadata, subjects } };
}

function isProtected(found: ApiObjectShape, dialect: Dialect): boolean {
  return found.metadata.annotations?.[dialect.annotations.autoUpdate] === 'false';
}

/** The found metadata, itself when no label or annotation is missing. What is there stays as it is. */
function withMarks(wanted: ApiObjectShape, found: ApiObjectShape): ApiObjectShape['metadata'] {
  const { labels = {}, annotations = {} } = found.metadata;
  const lacks = (has: Record<string, string>, needs: Record<string, string> = {}) =>
    Object.keys(needs).some((key) => !(key in has));
  if (!lacks(labels, wanted.metadata.labels) && !lacks(annotations, wanted.metadata.annotations)) return found.metadata;
  return {
    ...found.metadata,
    labels: { ...wanted.metadata.labels, ...labels },
    annotations: { ...wanted.metadata.annotations, ...annotations },
  };
}

function withMissing(found: readonly Subject[], wanted: readonly Subject[]): Subject[] {
  const same = (a: Subject, b: Subject) =>
    a.kind === b.kind && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '');
  return [...found, ...wanted.filter((subject) => !found.some((has) => same(has, subject)))];
}
