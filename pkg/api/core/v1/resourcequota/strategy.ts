import { validateResourceName, validateResourceQuantity } from '#api/core/v1/pod/validation/resources.js';
import { validateScopes } from '#api/core/v1/resourcequota/scope-validation.js';
import { isStandardQuotaResource } from '#api/core/v1/resources/names.js';
import { resourcequotas } from '#api/core/v1/resources.gen.js';
import type { ResourceQuota } from '#api/core/v1/types.gen.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, Strings } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');
export const resourceQuotaStrategy: Strategy<ResourceQuota> = kindStrategy<ResourceQuota>(resourcequotas, {
  deletionAnswer: 'object',
  anyGenerateNameOnUpdate: true,
  validate: (quota, context) => [
    ...validateList(quota.spec.hard, context.dialect, specPath.child('hard')),
    ...validateScopes(quota.spec, specPath),
  ],
  validateUpdate: (quota, old) => validateSameScopes(quota.spec.scopes ?? [], old.spec.scopes ?? []),
  validateStatusUpdate: (quota, _old, context) => [
    ...validateList(quota.status?.hard, context.dialect, statusPath.child('hard')),
    ...validateList(quota.status?.used, context.dialect, statusPath.child('used')),
  ],
  cells: (quota, context) => quotaCells(quota, context.now),
});

/** In any order. */
function validateSameScopes(scopes: readonly string[], old: readonly string[]): FieldFailure[] {
  const same = scopes.every((scope) => old.includes(scope)) && old.every((scope) => scopes.includes(scope));
  return same
    ? []
    : [invalidValue(specPath.child('scopes'), new Strings(scopes, 'core.ResourceQuotaScope'), 'field is immutable')];
}

function validateList(list: Record<string, string> | undefined, dialect: Dialect, path: FieldPath): FieldFailure[] {
  return Object.entries(list ?? {}).flatMap(([name, quantity]) => {
    const at = path.key(name);
    return [...validateName(name, at), ...validateResourceQuantity(name, quantity, dialect, at)];
  });
}

/** A resource without domain must be one that quotas support; `count/<resource>.<group>` counts objects. */
function validateName(name: string, path: FieldPath): readonly FieldFailure[] {
  const failures = validateResourceName(name, path);
  if (name.includes('/') || isStandardQuotaResource(name)) return failures;
  return [...failures, invalidValue(path, name, 'must be a standard resource for quota')];
}

function quotaCells(quota: ResourceQuota, now: number): TableRowCells {
  const { hard = {}, used = {} } = quota.status ?? {};
  const requests: string[] = [];
  const limits: string[] = [];
  for (const name of Object.keys(hard).sort()) {
    const list = name.startsWith('limits') ? limits : requests;
    list.push(`${name}: ${used[name] ?? '0'}/${hard[name] ?? '0'}`);
  }
  return [
    quota.metadata.name ?? '',
    age(quota.metadata.creationTimestamp, now),
    requests.join(', '),
    limits.join(', '),
  ];
}
