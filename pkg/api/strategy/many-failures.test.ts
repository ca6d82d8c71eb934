/** A list may have more invalid elements than a function accepts arguments. */
import t from 'tap';
import { nodes, pods, resourcequotas } from '#api/core/v1/resources.gen.js';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import { strategyFor } from '#api/strategies.js';
import { created, type Draft, testContext, withField } from '#api/testing/strategy-table.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

const count = 200_000;
const many = (element: object) => Array.from({ length: count }, () => ({ ...element }));
const rows: [ResourceDeclaration, Draft, string, unknown][] = [
  [nodes, { spec: {} }, 'spec.taints', many({})],
  [pods, { spec: { containers: [{ name: 'a', image: 'a' }] } }, 'spec.tolerations', many({ operator: 'None' })],
  [clusterroles, {}, 'rules', many({})],
  [resourcequotas, { spec: {} }, 'spec.scopes', Array.from({ length: count }, () => 'None')],
];
for (const [resource, base, path, value] of rows) {
  t.test(`${resource.resource} ${path}`, async (t) => {
    const strategy = strategyFor(resource);
    const metadata = { name: 'a', ...(resource.namespaced ? { namespace: 'a' } : {}) };
    const object = created(strategy, withField({ metadata, ...base }, path, value));
    t.ok((strategy.validateCreate?.(object, testContext) ?? []).length >= count);
  });
}
