import t, { type Test } from 'tap';
import { deployments, replicasets } from '#api/apps/v1/resources.gen.js';
import type { Deployment, DeploymentSpec, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { forbidden } from '#apimachinery/errors/status.js';
import { DeploymentController } from '#controllers/deployment/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { ReplicaSetController } from '#controllers/replicaset/controller.js';
import { replicaSetKind } from '#controllers/replicaset/replicated-kinds.js';

const labels = { app: 'web' };

function deployment(spec: Partial<DeploymentSpec> = {}): Deployment {
  return {
    metadata: { name: 'web', namespace: 'default', annotations: { note: 'x' } },
    spec: {
      replicas: 4,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'v1' }] } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      revisionHistoryLimit: 2,
      progressDeadlineSeconds: 600,
      ...spec,
    },
  };
}

function setUp(t: Test, spec: Partial<DeploymentSpec> = {}) {
  const harness = new Harness(t, [deployments, replicasets, pods]);
  const { api, clock, context } = harness;
  api.seed(deployments, deployment(spec));
  const broken = new Set<string>();
  const controllers = () => [
    new DeploymentController(context, { concurrency: 5 }),
    new ReplicaSetController(context, replicaSetKind, { concurrency: 5 }),
  ];
  const imageOf = (pod: Pod) => pod.spec.containers[0]?.image ?? '';
  /** The minimum of ready pods and the maximum of existing pods over time. */
  const extremes = { ready: Number.POSITIVE_INFINITY, total: 0 };
  const isReady = (pod: Pod) => pod.status?.conditions?.[0]?.status === 'True';
  const measure = () => {
    const all = api.list(pods).filter((pod) => pod.metadata.deletionTimestamp === undefined);
    extremes.ready = Math.min(extremes.ready, all.filter(isReady).length);
    extremes.total = Math.max(extremes.total, all.length);
  };
  /** Makes pods ready one at a time. */
  const run = async (turns = 40) => {
    for (let turn = 0; turn < turns; turn += 1) {
      await harness.advance(1000);
      measure();
      const pod = api.list(pods).find((each) => !isReady(each) && !broken.has(imageOf(each)));
      if (pod === undefined) continue;
      api.change<Pod>(pods, `default/${pod.metadata.name}`, (each) => {
        const lastTransitionTime = formatTime(clock.now());
        each.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
      });
    }
    await harness.advance(1000);
  };
  const setImage = (image: string) =>
    api.change<Deployment>(deployments, 'default/web', (object) => {
      object.spec.template.spec = { containers: [{ name: 'c', image }] };
    });
  const images = () => api.list(pods).map(imageOf).sort();
  const read = () => api.get(deployments, 'default/web');
  const condition = (type: string) => read()?.status?.conditions?.find((each) => each.type === type);
  const start = () => harness.start(...controllers());
  return { harness, api, start, run, setImage, images, read, condition, broken, extremes };
}

t.test('a deployment becomes available and updates its status', async (t) => {
  const { harness, api, start, run, read, condition } = setUp(t);
  await start();
  await run();
  t.match(read()?.status, {
    observedGeneration: 1,
    replicas: 4,
    updatedReplicas: 4,
    readyReplicas: 4,
    availableReplicas: 4,
    unavailableReplicas: 0,
  });
  t.match(condition('Available'), { status: 'True', reason: 'MinimumReplicasAvailable' });
  t.match(condition('Progressing'), { status: 'True', reason: 'NewReplicaSetAvailable' });
  t.match(read()?.metadata.annotations, { 'deployment.orch.io/revision': '1' });
  const [set] = api.list(replicasets);
  t.match(set?.metadata.annotations, {
    note: 'x',
    'deployment.orch.io/revision': '1',
    'deployment.orch.io/desired-replicas': '4',
    'deployment.orch.io/max-replicas': '5',
  });
  const hash = set?.metadata.labels?.['pod-template-hash'];
  t.equal(set?.metadata.name, `web-${hash}`);
  t.equal(set?.spec.selector?.matchLabels?.['pod-template-hash'], hash);
  t.match(api.list(pods)[0]?.metadata.labels, { app: 'web', 'pod-template-hash': hash });
  t.ok(harness.events.includes(`Normal ScalingReplicaSet web: Scaled up replica set web-${hash} to 4`));
  api.takeWrites();
  await harness.advance(3_600_000);
  t.same(api.takeWrites(), [], 'nothing is written while nothing changes');
});

t.test('a rolling update keeps within maxSurge and maxUnavailable', async (t) => {
  const { start, run, setImage, images, read, condition, extremes, api } = setUp(t);
  await start();
  await run();
  extremes.ready = 4;
  setImage('v2');
  await run();
  t.same(images(), ['v2', 'v2', 'v2', 'v2']);
  t.ok(extremes.ready >= 3, `never fewer than 3 ready (${extremes.ready})`);
  t.ok(extremes.total <= 5, `never more than 5 pods (${extremes.total})`);
  t.match(read()?.metadata.annotations, { 'deployment.orch.io/revision': '2' });
  t.match(condition('Progressing'), { reason: 'NewReplicaSetAvailable' });
  t.equal(api.list(replicasets).length, 2);
});

t.test('a rollback reuses the old set with a new revision, and history is limited', async (t) => {
  const { start, run, setImage, images, read, api } = setUp(t, { replicas: 1 });
  await start();
  await run(5);
  for (const image of ['v2', 'v3', 'v4', 'v5']) {
    setImage(image);
    await run(10);
  }
  const names = api.list(replicasets).map((set) => set.spec.template?.spec?.containers[0]?.image);
  t.same(names.sort(), ['v3', 'v4', 'v5']);
  setImage('v3');
  await run(10);
  t.same(images(), ['v3']);
  t.equal(read()?.metadata.annotations?.['deployment.orch.io/revision'], '6');
  const v3 = api.list(replicasets).find((set) => set.spec.template?.spec?.containers[0]?.image === 'v3');
  t.match(v3?.metadata.annotations, {
    'deployment.orch.io/revision': '6',
    'deployment.orch.io/revision-history': '3',
  });
});

t.test('Recreate starts no new pod before the last old pod is deleted', async (t) => {
  const { harness, start, run, setImage, images, api } = setUp(t, { replicas: 2, strategy: { type: 'Recreate' } });
  await start();
  await run(5);
  for (const pod of api.list(pods)) {
    api.change<Pod>(pods, `default/${pod.metadata.name}`, (each) => {
      each.metadata.finalizers = ['test.io/hold'];
    });
  }
  setImage('v2');
  await harness.advance(10_000);
  t.same(images(), ['v1', 'v1'], 'the old pods are still being deleted');
  for (const pod of api.list(pods)) api.remove(pods, `default/${pod.metadata.name}`);
  await run(10);
  t.same(images(), ['v2', 'v2']);
});

t.test('a stuck rollout reports a passed deadline', async (t) => {
  const { harness, start, run, setImage, condition, broken, read } = setUp(t, { progressDeadlineSeconds: 60 });
  await start();
  await run();
  broken.add('v2');
  setImage('v2');
  await run(5);
  t.match(condition('Progressing'), { status: 'True', reason: 'ReplicaSetUpdated' });
  await harness.advance(62_000);
  t.match(condition('Progressing'), { status: 'False', reason: 'ProgressDeadlineExceeded' });
  t.equal(read()?.status?.readyReplicas, 3, 'enough old pods stay');
  broken.clear();
  await run();
  t.match(condition('Progressing'), { status: 'True', reason: 'NewReplicaSetAvailable' });
});

t.test('paused: no rollout, but scaling in proportion', async (t) => {
  const { harness, api, start, run, setImage, images, condition } = setUp(t);
  await start();
  await run();
  const edit = (change: (object: Draft<Deployment>) => void) =>
    api.change<Deployment>(deployments, 'default/web', change);
  edit((object) => {
    object.spec.paused = true;
  });
  setImage('v2');
  await run(5);
  t.same(images(), ['v1', 'v1', 'v1', 'v1']);
  t.match(condition('Progressing'), { status: 'Unknown', reason: 'DeploymentPaused' });
  api.calls.length = 0;
  await harness.advance(7_200_000);
  t.same(api.takeWrites(), [], 'nothing happens while paused');
  edit((object) => {
    object.spec.replicas = 6;
  });
  await run(5);
  t.equal(images().length, 6);
  edit((object) => {
    object.spec.paused = false;
  });
  await run();
  t.same(images(), Array(6).fill('v2'));
  t.ok(harness.events.some((event) => event.includes('Scaled up replica set')));
});

t.test('minReadySeconds delays what counts as available', async (t) => {
  const { harness, start, run, read } = setUp(t, { replicas: 1, minReadySeconds: 30 });
  await start();
  await run(3);
  t.match(read()?.status, { readyReplicas: 1, availableReplicas: 0 });
  await harness.advance(31_000);
  t.match(read()?.status, { availableReplicas: 1 });
});

t.test('another set with the same hash increases the collision count', async (t) => {
  const { harness, api, start } = setUp(t, { replicas: 1 });
  await start();
  const [set] = api.list(replicasets);
  const name = set?.metadata.name ?? '';
  await harness.stop();
  const again = setUp(t, { replicas: 1 });
  again.api.seed<ReplicaSet>(replicasets, {
    metadata: { name, namespace: 'default' },
    spec: { replicas: 0, selector: { matchLabels: { app: 'other' } }, template: {} },
  });
  await again.start();
  await again.run(5);
  t.equal(again.read()?.status?.collisionCount, 1);
  t.equal(again.images().length, 1);
  t.equal(again.api.list(replicasets).length, 2);
});

t.test('a set that the cache does not show is not created again', async (t) => {
  const { harness, api, start, setImage } = setUp(t, { replicas: 1 });
  await start();
  const heal = harness.freeze('replicasets');
  setImage('v2');
  await harness.advance(30_000);
  setImage('v2');
  await harness.advance(30_000);
  t.equal(api.list(replicasets).length, 2);
  t.notOk(api.get(deployments, 'default/web')?.status?.collisionCount);
  heal();
  await harness.advance(30_000);
  t.equal(api.list(replicasets).length, 2);
});

t.test('a set is scaled once, though the cache does not show it', async (t) => {
  const { harness, api, start, run } = setUp(t);
  await start();
  await run();
  const heal = harness.freeze('replicasets');
  api.takeWrites();
  api.change<Deployment>(deployments, 'default/web', (object) => {
    object.spec.replicas = 6;
  });
  await harness.advance(30_000);
  api.change<Deployment>(deployments, 'default/web', (object) => {
    object.metadata.annotations = { note: 'y' };
  });
  await harness.advance(30_000);
  const writes = () => api.takeWrites().filter((line) => line.startsWith('update replicasets '));
  t.equal(writes().length, 1);
  heal();
  await run();
  t.equal(api.list(pods).length, 6);
});

t.test('a failed create of a set is recorded', async (t) => {
  const { harness, start, condition } = setUp(t);
  const q = { group: 'apps', resource: 'replicasets' };
  harness.fail((call) => call.verb === 'create' && call.resource === 'replicasets', forbidden(q, '', 'no'));
  await start();
  t.match(condition('Progressing'), { status: 'False', reason: 'FailedCreate' });
  t.ok(harness.events.some((event) => event.startsWith('Warning FailedCreate web: Failed to create new replica set')));
});

t.test('conflicts are retried with the newer version', async (t) => {
  const { api, start, run, images, setImage } = setUp(t, { replicas: 2 });
  await start();
  await run(5);
  let meddled = 0;
  api.intercept((call) => {
    if (call.verb === 'update' && call.resource === 'replicasets' && meddled < 3) {
      meddled += 1;
      api.change<ReplicaSet>(replicasets, `default/${call.name}`, (set) => {
        set.metadata.annotations = { ...set.metadata.annotations, meddled: String(meddled) };
      });
    }
    return undefined;
  });
  setImage('v2');
  await run();
  t.same(images(), ['v2', 'v2']);
  t.ok(meddled >= 3);
});
