import t, { type Test } from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { forbidden } from '#apimachinery/errors/status.js';
import type { Instances } from '#cloud/provider/provider.js';
import { CloudNodeLifecycleController } from '#controllers/cloudnodelifecycle/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const shutdown = { key: 'node.cloudprovider.orch.io/shutdown', effect: 'NoSchedule' };
const other = { key: 'other', effect: 'NoSchedule' };

const node = (name: string, status: string): Node => ({
  metadata: { name },
  spec: { taints: [other] },
  status: { conditions: [{ type: 'Ready', status }] },
});

async function start(t: Test, machines: Map<string, 'on' | 'off' | 'unknown'>, ...given: Node[]) {
  const harness = new Harness(t, [nodes]);
  const ask = ({ metadata: { name = '' } }: Node) => {
    if (machines.get(name) === 'unknown') throw new Error('cannot tell');
    return machines.get(name);
  };
  const instances: Instances = {
    exists: async (each) => ask(each) !== undefined,
    isShutdown: async (each) => ask(each) === 'off',
    metadata: async () => undefined,
  };
  for (const each of given) harness.api.seed(nodes, each);
  await harness.start(new CloudNodeLifecycleController(harness.context, { instances, monitorPeriodMs: 5000 }));
  const taints = (name: string) => harness.api.get(nodes, name)?.spec.taints;
  return { harness, taints };
}

t.test('nodes without machines are deleted', async (t) => {
  const machines = new Map<string, 'on' | 'off' | 'unknown'>([
    ['b', 'on'],
    ['c', 'unknown'],
  ]);
  const given = [node('a', 'Unknown'), node('b', 'Unknown'), node('c', 'False'), node('ready', 'True')];
  const { harness, taints } = await start(t, machines, ...given);
  const names = () => harness.api.list(nodes).map(({ metadata }) => metadata.name);
  t.same(names(), ['b', 'c', 'ready']);
  t.same(harness.events.splice(0), [
    'Normal DeletingNode a: Deleting node a because it does not exist in the cloud provider',
  ]);
  t.same(taints('b'), [other]);
  machines.delete('b');
  const heal = harness.fail((call) => call.verb === 'delete', forbidden({ group: '', resource: 'nodes' }, 'b', 'no'));
  await harness.advance(5000);
  t.match(harness.events.splice(0), [
    'Normal DeletingNode b: ',
    /^Warning DeletingNodeFailed b: Failed deleting node b: /,
  ]);
  heal();
  await harness.advance(5000);
  t.same(names(), ['c', 'ready']);
});

t.test('nodes whose machines are shut down are tainted until they are ready', async (t) => {
  const machines = new Map<string, 'on' | 'off'>([['a', 'off']]);
  const { harness, taints } = await start(t, machines, node('a', 'Unknown'));
  t.same(taints('a'), [other, shutdown]);
  machines.set('a', 'on');
  await harness.advance(5000);
  t.same(taints('a'), [other, shutdown], 'not before it is ready');
  harness.api.change<Node>(nodes, 'a', (each) => {
    each.status = { conditions: [{ type: 'Ready', status: 'True' }] };
  });
  await harness.advance(1000);
  t.same(taints('a'), [other]);
});
