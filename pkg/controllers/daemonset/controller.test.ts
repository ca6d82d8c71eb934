import t, { type Test } from 'tap';
import { controllerrevisions, daemonsets } from '#api/apps/v1/resources.gen.js';
import type { DaemonSet, DaemonSetSpec } from '#api/apps/v1/types.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { forbidden } from '#apimachinery/errors/status.js';
import { DaemonSetController } from '#controllers/daemonset/controller.js';
import { targetNode } from '#controllers/daemonset/placement.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import {
  imageOf,
  isReady,
  isTerminating,
  makeReady,
  remove,
  setStatus,
  withGracePeriod,
} from '#controllers/framework/testing/pods.js';

const labels = { app: 'agent' };

function daemonSet(spec: Partial<DaemonSetSpec> = {}): DaemonSet {
  return {
    metadata: {
      name: 'agent',
      namespace: 'default',
      uid: 'set',
      annotations: { 'deprecated.daemonset.template.generation': '1' },
    },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'v1' }] } },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      revisionHistoryLimit: 10,
      ...spec,
    },
  };
}

const node = (name: string, more: Partial<Node['metadata']> = {}): Node => ({ metadata: { name, ...more }, spec: {} });

function setUp(t: Test, spec: Partial<DaemonSetSpec> = {}, count = 3) {
  const harness = new Harness(t, [daemonsets, controllerrevisions, pods, nodes]);
  const { api } = harness;
  withGracePeriod(harness);
  for (let i = 0; i < count; i += 1) api.seed(nodes, node(`n${i}`));
  api.seed(daemonsets, daemonSet(spec));
  const start = () => harness.start(new DaemonSetController(harness.context, { concurrency: 2, surgeEnabled: true }));
  const broken = new Set<string>();
  /** The minimum of ready pods and the maximum of existing pods over time. */
  const extremes = { ready: Number.POSITIVE_INFINITY, total: 0 };
  /** Makes pods ready, or removes them, one at a time as nodes do. */
  const run = async (turns = 30) => {
    for (let turn = 0; turn < turns; turn += 1) {
      await harness.advance(1000);
      const there = api.list(pods).filter((pod) => !isTerminating(pod));
      extremes.ready = Math.min(extremes.ready, there.filter(isReady).length);
      extremes.total = Math.max(extremes.total, there.length);
      const going = api.list(pods).find(isTerminating);
      const starting = there.find((pod) => !isReady(pod) && !broken.has(imageOf(pod)));
      if (going !== undefined) remove(harness, going);
      else if (starting !== undefined) makeReady(harness, starting);
    }
    await harness.advance(1000);
  };
  const edit = (change: (set: Draft<DaemonSet>) => void) => api.change<DaemonSet>(daemonsets, 'default/agent', change);
  const setImage = (image: string) =>
    edit((set) => {
      set.spec.template.spec = { containers: [{ name: 'c', image }] };
    });
  const read = () => api.get(daemonsets, 'default/agent');
  const placed = () =>
    api
      .list(pods)
      .map((pod) => `${targetNode(pod)} ${imageOf(pod)}`)
      .sort();
  const podOn = (name: string) => api.list(pods).find((pod) => targetNode(pod) === name) as Pod;
  return { harness, api, start, run, edit, setImage, read, placed, podOn, broken, extremes };
}

t.test('one pod per node, with the node name as affinity', async (t) => {
  const { harness, api, start, run, read, placed } = setUp(t);
  await start();
  t.same(placed(), ['n0 v1', 'n1 v1', 'n2 v1']);
  await run(5);
  const [revision] = api.list(controllerrevisions);
  const hash = revision?.metadata.labels?.['controller-revision-hash'];
  t.match(revision, {
    metadata: { name: `agent-${hash}`, ownerReferences: [{ kind: 'DaemonSet', controller: true }] },
    revision: 1,
  });
  t.match(api.list(pods)[0], {
    metadata: {
      generateName: 'agent-',
      labels: { app: 'agent', 'controller-revision-hash': hash, 'pod-template-generation': '1' },
      ownerReferences: [{ kind: 'DaemonSet', name: 'agent', uid: 'set', controller: true }],
    },
    spec: { tolerations: [{ key: 'node.orch.io/not-ready' }, {}, {}, {}, {}, {}] },
  });
  t.match(read()?.status, {
    observedGeneration: 1,
    desiredNumberScheduled: 3,
    currentNumberScheduled: 3,
    numberMisscheduled: 0,
    numberReady: 3,
    updatedNumberScheduled: 3,
    numberAvailable: 3,
    numberUnavailable: 0,
  });
  t.equal(harness.events.filter((event) => event.startsWith('Normal SuccessfulCreate agent: Created pod: ')).length, 3);
  api.takeWrites();
  await harness.advance(3_600_000);
  t.same(api.takeWrites(), [], 'nothing is written while nothing changes');
  api.verify();
});

t.test('pods follow nodes that are added, changed and deleted', async (t) => {
  const { harness, api, start, run, placed, read } = setUp(t, {
    template: {
      metadata: { labels },
      spec: { containers: [{ name: 'c', image: 'v1' }], nodeSelector: { disk: 'ssd' } },
    },
  });
  await start();
  t.same(placed(), []);
  api.seed(nodes, node('n3', { labels: { disk: 'ssd' } }));
  await run(3);
  t.same(placed(), ['n3 v1']);
  const label = (name: string, value: string) =>
    api.change<Node>(nodes, name, (each) => {
      each.metadata.labels = { disk: value };
    });
  label('n0', 'ssd');
  await run(3);
  t.same(placed(), ['n0 v1', 'n3 v1']);
  label('n3', 'hdd');
  await run(3);
  t.same(placed(), ['n0 v1']);
  api.change<Node>(nodes, 'n0', (each) => {
    each.spec.taints = [{ key: 'k', effect: 'NoSchedule' }];
  });
  await run(3);
  t.same(placed(), ['n0 v1'], 'the pod stays');
  t.match(read()?.status, { desiredNumberScheduled: 0, numberMisscheduled: 1 });
  api.change<Node>(nodes, 'n0', (each) => {
    each.spec.taints = [{ key: 'k', effect: 'NoExecute' }];
  });
  await run(3);
  t.same(placed(), []);
  api.calls.length = 0;
  api.change<Node>(nodes, 'n0', (each) => {
    each.status = { conditions: [{ type: 'Ready', status: 'True' }] };
  });
  await harness.advance(1000);
  t.same(api.takeWrites(), []);
});

t.test('a pod that waits for a deleted node is removed', async (t) => {
  const { harness, api, start, placed, run } = setUp(t);
  await start();
  api.remove(nodes, 'n1');
  await run(3);
  t.same(placed(), ['n0 v1', 'n2 v1']);
  await harness.stop();
});

t.test('a rolling update keeps within maxUnavailable', async (t) => {
  const { start, run, setImage, placed, extremes, api, read } = setUp(t);
  await start();
  await run(6);
  extremes.ready = 3;
  setImage('v2');
  await run();
  t.same(placed(), ['n0 v2', 'n1 v2', 'n2 v2']);
  t.ok(extremes.ready >= 2, `never fewer than 2 ready (${extremes.ready})`);
  t.equal(extremes.total, 3);
  t.same(
    api
      .list(controllerrevisions)
      .map(({ revision }) => revision)
      .sort(),
    [1, 2],
  );
  t.match(read()?.status, { updatedNumberScheduled: 3, numberAvailable: 3 });
});

t.test('a rolling update with surge replaces old pods before deleting them', async (t) => {
  const spec: Partial<DaemonSetSpec> = {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
  };
  const { start, run, setImage, placed, extremes } = setUp(t, spec);
  await start();
  await run(6);
  extremes.ready = 3;
  setImage('v2');
  await run();
  t.same(placed(), ['n0 v2', 'n1 v2', 'n2 v2']);
  t.equal(extremes.ready, 3);
  t.equal(extremes.total, 4);
});

t.test('a broken update stops, and can be undone', async (t) => {
  const { start, run, setImage, placed, broken, api } = setUp(t);
  await start();
  await run(6);
  broken.add('v2');
  setImage('v2');
  await run();
  t.same(placed(), ['n0 v2', 'n1 v1', 'n2 v1']);
  setImage('v1');
  await run();
  t.same(placed(), ['n0 v1', 'n1 v1', 'n2 v1']);
  t.same(
    api
      .list(controllerrevisions)
      .map(({ revision }) => revision)
      .sort(),
    [2, 3],
    'the old revision is renumbered',
  );
});

t.test('OnDelete replaces deleted pods', async (t) => {
  const { harness, start, run, setImage, placed, podOn } = setUp(t, { updateStrategy: { type: 'OnDelete' } });
  await start();
  await run(6);
  setImage('v2');
  await run(6);
  t.same(placed(), ['n0 v1', 'n1 v1', 'n2 v1']);
  remove(harness, podOn('n1'));
  await run(6);
  t.same(placed(), ['n0 v1', 'n1 v2', 'n2 v1']);
});

t.test('repeatedly failing pods are replaced with growing delays', async (t) => {
  const { harness, api, start, podOn, setImage } = setUp(t, {}, 1);
  await start();
  const replacements = async (ms: number) => {
    let count = 0;
    for (const end = harness.clock.now() + ms; harness.clock.now() < end; ) {
      const pod = podOn('n0');
      if (pod !== undefined && isTerminating(pod)) {
        remove(harness, pod);
        count += 1;
      } else if (pod !== undefined && pod.status?.phase !== 'Failed') setStatus(harness, pod, { phase: 'Failed' });
      await harness.advance(500);
    }
    return count;
  };
  const first = await replacements(60_000);
  t.ok(first >= 4 && first <= 8, `${first} in the first minute`);
  const afterwards = await replacements(60_000);
  t.ok(afterwards <= 1, `${afterwards} in the second`);
  const message = `Found failed daemon pod default/${api.list(pods)[0]?.metadata.name} on node n0, will try to kill it`;
  setImage('v2');
  await harness.advance(1000);
  t.ok(harness.events.includes(`Warning FailedDaemonPod agent: ${message}`), 'a new template is tried at once');
});

t.test('failed creations are recorded, counted and retried', async (t) => {
  const { harness, api, start, run, placed, read } = setUp(t, {}, 10);
  let allowed = 3;
  const heal = api.intercept((call) => {
    if (call.verb !== 'create' || call.resource !== 'pods') return undefined;
    allowed -= 1;
    return allowed < 0 ? forbidden({ group: '', resource: 'pods' }, '', 'exceeded quota') : undefined;
  });
  await start();
  t.equal(placed().length, 3);
  t.ok(
    api.calls.filter((call) => call.verb === 'create' && call.resource === 'pods').length < 10,
    'creation stops after failures',
  );
  t.ok(harness.events.some((event) => event.startsWith('Warning FailedCreate agent: Error creating: ')));
  await harness.advance(1000);
  t.match(read()?.status, { desiredNumberScheduled: 10, currentNumberScheduled: 3 });
  heal();
  await run(40);
  t.equal(placed().length, 10);
});

t.test('history is limited; revisions and pods are adopted', async (t) => {
  const { harness, start, run, setImage, api } = setUp(t, { revisionHistoryLimit: 1 }, 1);
  await start();
  await run(3);
  for (const image of ['v2', 'v3', 'v4']) {
    setImage(image);
    await run(6);
  }
  t.same(
    api
      .list(controllerrevisions)
      .map(({ revision }) => revision)
      .sort(),
    [3, 4],
  );
  await harness.stop();
  const again = setUp(t, { revisionHistoryLimit: 1, ...api.get(daemonsets, 'default/agent')?.spec }, 1);
  for (const object of [...api.list(controllerrevisions), ...api.list(pods)]) delete object.metadata.ownerReferences;
  for (const revision of api.list(controllerrevisions)) {
    delete revision.metadata.ownerReferences;
    again.api.seed(controllerrevisions, revision);
  }
  const [orphan] = api.list(pods);
  if (orphan === undefined) throw new TypeError('no pod');
  delete orphan.metadata.ownerReferences;
  again.api.seed<Pod>(pods, { ...orphan, spec: { ...orphan.spec, nodeName: 'n0' } });
  await again.start();
  await again.run(5);
  t.same(
    again.api.list(pods).map((pod) => pod.metadata.uid),
    [orphan.metadata.uid],
  );
  t.match(again.api.list(pods)[0]?.metadata.ownerReferences, [{ uid: 'set', controller: true }]);
  t.same(
    again.api
      .list(controllerrevisions)
      .map(({ revision }) => revision)
      .sort(),
    [3, 4],
  );
});

t.test('a set that selects everything gets an event; a set in deletion is ignored', async (t) => {
  const everything = setUp(t, { selector: {} });
  await everything.start();
  t.same(everything.placed(), []);
  t.ok(
    everything.harness.events.includes(
      'Warning SelectingAll agent: This daemon set is selecting all pods. A non-empty selector is required.',
    ),
  );
  const deleted = setUp(t);
  deleted.edit((set) => {
    set.metadata.deletionTimestamp = '2022-05-03T00:00:00Z';
    set.metadata.finalizers = ['foregroundDeletion'];
  });
  await deleted.start();
  t.same(deleted.placed(), []);
});

t.test('a lagging cache causes no second create or delete', async (t) => {
  const { harness, api, start, run, setImage, edit } = setUp(t);
  await start();
  await run(6);
  api.takeWrites();
  const heal = harness.freeze('pods');
  api.seed(nodes, node('n3'));
  await harness.advance(20_000);
  api.seed(nodes, node('n4'));
  setImage('v2');
  edit((set) => {
    set.metadata.annotations = { note: 'x' };
  });
  await harness.advance(30_000);
  t.equal(api.takeWrites().filter((line) => line.startsWith('create pods ')).length, 1);
  heal();
  await run(60);
  t.equal(api.list(pods).length, 5);
});
