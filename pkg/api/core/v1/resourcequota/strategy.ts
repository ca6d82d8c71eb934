/** What is particular to resource quotas. */
import { validateResourceName, validateResourceQuantity } from '#api/core/v1/pod/validation/resources.js';
import { validateScopes } from '#api/core/v1/resourcequota/scope-validation.js';
import { resourcequotas } from '#api/core/v1/resources.gen.js';
import type { ResourceQuota } from '#api/core/v1/types.gen.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { TableRowCells } from '#api/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');
export const resourceQuotaStrategy: Strategy<ResourceQuota> = kindStrategy<ResourceQuota>(resourcequotas, {
  validate: (quota, context) => [
    ...validateList(quota.spec.hard, context.dialect, specPath.child('hard')),
    ...validateScopes(quota.spec, specPath),
  ],
  validateUpdate: (quota, old) => validateImmutable(quota.spec.scopes, old.spec.scopes, specPath.child('scopes')),
  validateStatusUpdate: (quota, _old, context) => [
    ...validateList(quota.status?.hard, context.dialect, statusPath.child('hard')),
    ...validateList(quota.status?.used, context.dialect, statusPath.child('used')),
  ],
  cells: (quota, context) => quotaCells(quota, context.now),
});

function validateList(list: Record<string, string> | undefined, dialect: Dialect, path: FieldPath): FieldFailure[] {
  return Object.entries(list ?? {}).flatMap(([name, quantity]) => {
    const at = path.key(name);
    // Counts of objects of any kind: count/<resource>.<group>.
    const named = name.startsWith('count/') ? [] : validateResourceName(name, at);
    return [...named, ...validateResourceQuantity(name, quantity, dialect, at)];
  });
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
