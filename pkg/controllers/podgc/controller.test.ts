import t, { type Test } from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
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
