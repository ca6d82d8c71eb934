import t, { type Test } from 'tap';
import { replicasets } from '#api/apps/v1/resources.gen.js';
import type { ReplicaSet } from '#api/apps/v1/types.gen.js';
import { pods, replicationcontrollers } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { forbidden, notFound, serviceUnavailable } from '#apimachinery/errors/status.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { ReplicaSetController } from '#controllers/replicaset/controller.js';
import { replicaSetKind, replicationControllerKind } from '#controllers/replicaset/replicated-kinds.js';

const labels = { app: 'web' };

function replicaSet(replicas: number): ReplicaSet {
  return {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c' }] } },
    },
  };
}

function setUp(t: Test, replicas: number) {
  const harness = new Harness(t, [replicasets, pods]);
  const set = harness.api.seed(replicasets, replicaSet(replicas));
  const start = () => harness.start(new ReplicaSetController(harness.context, replicaSetKind, { concurrency: 5 }));
  const scale = (to: number) =>
    harness.api.change(replicasets, 'default/web', (object) => {
      object.spec.replicas = to;
    });
  const names = () => harness.api.list(pods).map((pod) => pod.metadata.name);
  return { harness, api: harness.api, set, start, scale, names };
}

t.test('creates the desired pods once and counts them', async (t) => {
  const { harness, api, set, start } = setUp(t, 5);
  await start();
  const existing = api.list(pods);
  t.equal(existing.length, 5);
  t.match(existing[0], {
    metadata: {
      labels,
      ownerReferences: [{ kind: 'ReplicaSet', name: 'web', uid: set.metadata.uid, controller: true }],
    },
    spec: { containers: [{ name: 'c' }] },
  });
  t.equal(api.calls.filter((call) => call.verb === 'create').length, 5);
  t.match(api.get(replicasets, 'default/web')?.status, { replicas: 5, fullyLabeledReplicas: 5, readyReplicas: 0 });
  t.equal(harness.events.filter((event) => event.startsWith('Normal SuccessfulCreate web')).length, 5);
  api.verify();
});

t.test('a lagging cache causes no second create or delete', async (t) => {
  const { harness, api, start, scale, names } = setUp(t, 3);
  await start();
  let heal = harness.freeze('pods');
  scale(5);
  await harness.advance(60_000);
  t.equal(names().length, 5, 'two more, though the cache still shows three');
  await harness.advance(60_000);
  t.equal(names().length, 5);
  heal();
  await harness.advance(60_000);
  t.equal(names().length, 5);
  heal = harness.freeze('pods');
  scale(1);
  await harness.advance(120_000);
  t.equal(names().length, 1);
  heal();
  await harness.advance(60_000);
  t.equal(api.calls.filter((call) => call.verb === 'create').length, 5);
  t.equal(api.calls.filter((call) => call.verb === 'delete').length, 4);
});

t.test('an orphan that the cache still shows as such is adopted once', async (t) => {
  const { harness, api, start } = setUp(t, 2);
  api.seed<Pod>(pods, { metadata: { name: 'orphan', namespace: 'default', labels }, spec: { containers: [] } });
  const patches = () => api.calls.filter((call) => call.verb === 'patch').length;
  let heal = () => {};
  // The cache is disconnected by the adoption, so that it never shows it.
  api.intercept((call) => {
    if (call.verb === 'patch' && patches() === 1) heal = harness.freeze('pods');
    return undefined;
  });
  await start();
  await harness.advance(60_000);
  // Another client's change causes another reconcile.
  api.change(replicasets, 'default/web', (object) => {
    object.metadata.annotations = { note: 'changed' };
  });
  await harness.advance(60_000);
  t.equal(patches(), 1);
  t.equal(api.list(pods).length, 2);
  heal();
  await harness.advance(60_000);
  t.equal(patches(), 1);
  t.match(api.get(replicasets, 'default/web')?.status, { replicas: 2 });
});

t.test('scaling down deletes the lowest-ranked pods', async (t) => {
  const { harness, api, start, scale, names } = setUp(t, 3);
  await start();
  const keep = names()[1] ?? '';
  api.change<Pod>(pods, `default/${keep}`, (pod) => {
    pod.spec.nodeName = 'n1';
    pod.status = { phase: 'Running' };
  });
  scale(1);
  await harness.advance(1000);
  t.same(names(), [keep]);
});

t.test('a failure stops the batch, is recorded, and is retried', async (t) => {
  const { harness, api, start, names } = setUp(t, 10);
  let allowed = 3;
  const heal = api.intercept((call) => {
    if (call.verb !== 'create') return undefined;
    allowed -= 1;
    return allowed < 0 ? forbidden({ group: '', resource: 'pods' }, '', 'exceeded quota') : undefined;
  });
  await start();
  t.equal(names().length, 3);
  t.ok(api.calls.filter((call) => call.verb === 'create').length < 10, 'creation stops after the failure');
  t.match(api.get(replicasets, 'default/web')?.status?.conditions, [
    { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' },
  ]);
  t.ok(harness.events.some((event) => event.startsWith('Warning FailedCreate web: Error creating: ')));
  heal();
  await harness.advance(60_000);
  t.equal(names().length, 10);
  t.notOk(api.get(replicasets, 'default/web')?.status?.conditions?.length);
});

t.test('a missing pod counts as deleted', async (t) => {
  const { harness, api, start, scale } = setUp(t, 2);
  await start();
  const heal = harness.fail((call) => call.verb === 'delete', notFound({ group: '', resource: 'pods' }, 'x'));
  scale(0);
  await harness.settled();
  t.notOk(harness.events.some((event) => event.includes('FailedDelete')));
  heal();
  await harness.advance(60_000);
  t.ok(api.list(pods).length <= 2);
});

t.test('orphans are adopted and unselected pods released', async (t) => {
  const { harness, api, set, start } = setUp(t, 2);
  api.seed<Pod>(pods, { metadata: { name: 'orphan', namespace: 'default', labels }, spec: { containers: [] } });
  await start();
  t.match(api.get(pods, 'default/orphan')?.metadata.ownerReferences, [{ uid: set.metadata.uid, controller: true }]);
  t.equal(api.list(pods).length, 2, 'the orphan counts');
  api.change<Pod>(pods, 'default/orphan', (pod) => {
    pod.metadata.labels = { app: 'other' };
  });
  await harness.advance(1000);
  t.same(api.get(pods, 'default/orphan')?.metadata.ownerReferences ?? [], []);
  t.equal(api.list(pods).length, 3, 'a new pod replaces it');
});

t.test('a set that is being deleted adopts nothing', async (t) => {
  const { api, start } = setUp(t, 1);
  api.change<ReplicaSet>(replicasets, 'default/web', (object) => {
    object.metadata.deletionTimestamp = '2022-05-03T00:00:00Z';
    object.metadata.finalizers = ['foregroundDeletion'];
  });
  api.seed<Pod>(pods, { metadata: { name: 'orphan', namespace: 'default', labels }, spec: { containers: [] } });
  await start();
  t.same(api.get(pods, 'default/orphan')?.metadata.ownerReferences ?? [], []);
  t.equal(api.list(pods).length, 1);
});

t.test('an unavailable server is retried', async (t) => {
  const { harness, start, names } = setUp(t, 1);
  const heal = harness.fail((call) => call.verb === 'create', serviceUnavailable('down'));
  await start();
  heal();
  await harness.advance(60_000);
  t.equal(names().length, 1);
});

t.test('replication controllers use the same loop', async (t) => {
  const harness = new Harness(t, [replicationcontrollers, pods]);
  harness.api.seed(replicationcontrollers, {
    metadata: { name: 'rc', namespace: 'default' },
    spec: { replicas: 2, selector: labels, template: { metadata: { labels }, spec: { containers: [{ name: 'c' }] } } },
  });
  await harness.start(new ReplicaSetController(harness.context, replicationControllerKind, { concurrency: 1 }));
  t.match(harness.api.list(pods), [{ metadata: { ownerReferences: [{ kind: 'ReplicationController' }] } }, {}]);
});
