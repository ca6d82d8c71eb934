import t from 'tap';
import type { Node } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { reconcileNode, withDevices, withOtherResources } from '#nodeagent/node/reconcile-node.js';

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

t.test('devices of plugins are added, also none, which differs from a resource that is not known', async (t) => {
  const own = { capacity: { cpu: '2' }, allocatable: { cpu: '1' } };
  const devices = {
    capacity: { 'example.com/a': '3', 'example.com/gone': '0' },
    allocatable: { 'example.com/a': '2', 'example.com/gone': '0' },
  };
  t.equal(withDevices(own, undefined).capacity['example.com/a'], undefined, 'without plugins');
  const old = { capacity: { 'example.com/gone': '5', 'example.com/other': '4' }, allocatable: {} };
  t.same(
    withOtherResources(withDevices(own, devices), old, orchDialect),
    {
      capacity: { cpu: '2', ...devices.capacity, 'example.com/other': '4' },
      allocatable: { cpu: '1', ...devices.allocatable, 'example.com/other': '4' },
    },
    'beside those that other clients advertise',
  );
});
