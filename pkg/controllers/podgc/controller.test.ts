import t, { type Test } from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { PodGCController } from '#controllers/podgc/controller.js';

function setUp(t: Test, terminatedThreshold = 2) {
  const harness = new Harness(t, [nodes, pods]);
  const { api } = harness;
  const node = (name: string) => api.seed(nodes, { metadata: { name }, spec: {} });
  const pod = (name: string, phase: string, nodeName = '', more: Pod['metadata'] = {}) =>
    api.seed<Pod>(pods, {
      metadata: { name, namespace: 'default', ...more },
      spec: { containers: [], ...(nodeName === '' ? {} : { nodeName }) },
      status: { phase },
    });
  const names = () =>
    api
      .list(pods)
      .map(({ metadata }) => metadata.name)
      .sort();
  const start = () => harness.start(new PodGCController(harness.context, { terminatedThreshold }));
  return { harness, api, node, pod, names, start };
}

t.test('the oldest finished pods beyond the threshold are deleted', async (t) => {
  const { harness, node, pod, names, start } = setUp(t);
  node('n1');
  for (const [i, name] of ['a', 'b', 'c', 'd'].entries()) {
    pod(name, i % 2 === 0 ? 'Succeeded' : 'Failed', 'n1', { creationTimestamp: `2022-05-03T00:00:0${9 - i}Z` });
  }
  pod('alive', 'Running', 'n1');
  await start();
  t.same(names(), ['a', 'alive', 'b']);
  pod('e', 'Failed', 'n1', { creationTimestamp: '2022-05-03T00:00:00Z' });
  await harness.settled();
  t.same(names(), ['a', 'alive', 'b']);
});

t.test('a threshold of zero keeps all pods', async (t) => {
  const { node, pod, names, start } = setUp(t, 0);
  node('n1');
  for (const name of ['a', 'b', 'c']) pod(name, 'Failed', 'n1');
  await start();
  t.equal(names().length, 3);
});

t.test('pods of a deleted node are deleted after a delay', async (t) => {
  const { harness, api, node, pod, names, start } = setUp(t);
  node('n1');
  node('n2');
  pod('a', 'Running', 'n1');
  pod('b', 'Running', 'n2');
  pod('c', 'Pending');
  await start();
  api.remove(nodes, 'n1');
  api.remove(nodes, 'n2');
  await harness.advance(30_000);
  t.same(names(), ['a', 'b', 'c']);
  node('n2');
  await harness.advance(30_000);
  t.same(names(), ['b', 'c'], 'a recreated node keeps its pods');
});

t.test('an unscheduled pod in deletion is removed', async (t) => {
  const { harness, api, pod, names, start } = setUp(t);
  pod('a', 'Pending');
  await start();
  api.change<Pod>(pods, 'default/a', (object) => {
    object.metadata.deletionTimestamp = '2022-05-03T00:00:00Z';
    object.metadata.deletionGracePeriodSeconds = 30;
  });
  await harness.settled();
  t.same(names(), []);
});

for (const collectsOutOfService of [true, false]) {
  const title = collectsOutOfService ? 'removed' : 'kept without the gate';
  t.test(`pods in deletion on a node out of service are ${title}`, async (t) => {
    const { harness, api, pod, names } = setUp(t);
    const key = harness.context.dialect.taints.outOfService;
    const taints = [{ key, value: 'nodeshutdown', effect: 'NoExecute' }];
    const ready = (status: string) => ({ conditions: [{ type: 'Ready', status }] });
    api.seed(nodes, { metadata: { name: 'n1' }, spec: {}, status: ready('Unknown') });
    api.seed(nodes, { metadata: { name: 'n2' }, spec: { taints }, status: ready('True') });
    api.seed(nodes, { metadata: { name: 'n3' }, spec: { taints }, status: ready('Unknown') });
    const going = { deletionTimestamp: '2022-05-03T00:00:00Z', deletionGracePeriodSeconds: 30 };
    for (const node of ['n1', 'n2', 'n3']) {
      pod(`going-${node}`, 'Running', node, going);
      pod(`staying-${node}`, 'Running', node);
    }
    await harness.start(new PodGCController(harness.context, { terminatedThreshold: 0, collectsOutOfService }));
    const all = ['going-n1', 'going-n2', 'going-n3', 'staying-n1', 'staying-n2', 'staying-n3'];
    t.same(names(), collectsOutOfService ? all.filter((name) => name !== 'going-n3') : all);
    api.change<Node>(nodes, 'n1', (node) => {
      node.spec.taints = taints;
    });
    await harness.settled();
    t.equal(names().includes('going-n1'), !collectsOutOfService, 'tainted later');
    api.change<Node>(nodes, 'n2', (node) => {
      node.status = ready('False');
    });
    await harness.settled();
    t.equal(names().includes('going-n2'), !collectsOutOfService, 'not ready later');
    t.ok(names().includes('staying-n3'), 'pods that are not in deletion stay');
  });
}
