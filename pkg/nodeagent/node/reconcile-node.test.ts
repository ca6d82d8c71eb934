import t from 'tap';
import type { Node } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { reconcileNode } from '#nodeagent/node/reconcile-node.js';

t.test('extended resources survive an agent restart but not a change of machine', async (t) => {
  const node = (resources: Record<string, string>): Node => ({
    metadata: { name: 'n' },
    spec: {},
    status: { capacity: resources, allocatable: resources },
  });
  const existing = node({ cpu: '2', 'example.com/dongle': '4' });
  const statusPatch = (isNewMachine: boolean) =>
    reconcileNode(node({ cpu: '2' }), existing, { dialect: orchDialect, isNewMachine }).status;
  t.equal(statusPatch(false), undefined);
  const zero = { 'example.com/dongle': '0' };
  t.same(statusPatch(true), { status: { capacity: zero, allocatable: zero } });
});
