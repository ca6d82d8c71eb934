import t, { type Test } from 'tap';
import { controllerrevisions, statefulsets } from '#api/apps/v1/resources.gen.js';
import type { StatefulSet, StatefulSetSpec } from '#api/apps/v1/types.gen.js';
import { persistentvolumeclaims, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { forbidden, StatusError } from '#apimachinery/errors/status.js';
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
import { StatefulSetController } from '#controllers/statefulset/controller.js';
import type { StatefulSetFeatures } from '#controllers/statefulset/plan.js';

const labels = { app: 'web' };

function statefulSet(spec: Partial<StatefulSetSpec> = {}): StatefulSet {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'set' },
    spec: {
      replicas: 3,
      serviceName: 'web',
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'v1' }] } },
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      revisionHistoryLimit: 10,
      ...spec,
    },
  };
}

const data = {
  metadata: { name: 'data', labels: { kept: 'yes' } },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

function setUp(t: Test, spec: Partial<StatefulSetSpec> = {}, features: Partial<StatefulSetFeatures> = {}) {
  const harness = new Harness(t, [statefulsets, controllerrevisions, pods, persistentvolumeclaims]);
  const { api } = harness;
  withGracePeriod(harness);
  api.seed(statefulsets, statefulSet(spec));
  const all = { autoDeletePVC: false, maxUnavailable: false, minReadySeconds: true, ...features };
  const start = () => harness.start(new StatefulSetController(harness.context, { concurrency: 5, features: all }));
  const broken = new Set<string>();
  /** Makes pods ready, or removes them, one at a time as nodes do. */
  const run = async (turns = 30) => {
    for (let turn = 0; turn < turns; turn += 1) {
      await harness.advance(1000);
      const going = api.list(pods).find(isTerminating);
      const starting = api.list(pods).find((pod) => !isReady(pod) && !isTerminating(pod) && !broken.has(imageOf(pod)));
      if (going !== undefined) remove(harness, going);
      else if (starting !== undefined) makeReady(harness, starting);
    }
    await harness.advance(1000);
  };
  const edit = (change: (set: Draft<StatefulSet>) => void) =>
    api.change<StatefulSet>(statefulsets, 'default/web', change);
  const setImage = (image: string) =>
    edit((set) => {
      set.spec.template.spec = { containers: [{ name: 'c', image }] };
    });
  const read = () => api.get(statefulsets, 'default/web');
  const names = () =>
    api
      .list(pods)
      .map((pod) => pod.metadata.name)
      .sort();
  const images = () =>
    api
      .list(pods)
      .map((pod) => `${pod.metadata.name} ${imageOf(pod)}`)
      .sort();
  const pod = (name: string) => api.list(pods).find((each) => each.metadata.name === name) as Draft<Pod>;
  return { harness, api, start, run, edit, setImage, read, names, images, pod, broken };
}

t.test('pods are created one by one with stable names', async (t) => {
  const { harness, api, start, run, read, names, pod } = setUp(t);
  await start();
  t.same(names(), ['web-0'], 'the next pod waits until this pod is ready');
  await run();
  t.same(names(), ['web-0', 'web-1', 'web-2']);
  const [revision] = api.list(controllerrevisions);
  t.equal(revision?.revision, 1);
  t.match(revision?.metadata, {
    labels: { app: 'web', 'controller.orch.io/hash': revision?.metadata.name?.slice(4) },
    ownerReferences: [{ kind: 'StatefulSet', controller: true }],
  });
  t.match(pod('web-1'), {
    metadata: {
      labels: {
        app: 'web',
        'statefulset.orch.io/pod-name': 'web-1',
        'controller-revision-hash': revision?.metadata.name,
      },
      ownerReferences: [{ kind: 'StatefulSet', name: 'web', uid: 'set', controller: true }],
    },
    spec: { hostname: 'web-1', subdomain: 'web' },
  });
  t.match(read()?.status, {
    observedGeneration: 1,
    replicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    currentReplicas: 3,
    updatedReplicas: 3,
    currentRevision: revision?.metadata.name,
    updateRevision: revision?.metadata.name,
    collisionCount: 0,
  });
  t.ok(harness.events.includes('Normal SuccessfulCreate web: create Pod web-0 in StatefulSet web successful'));
  api.takeWrites();
  await harness.advance(3_600_000);
  t.same(api.takeWrites(), [], 'nothing is written while nothing changes');
  api.verify();
});

t.test('an unordered set creates and deletes all pods at once', async (t) => {
  const { harness, start, run, edit, names, api } = setUp(t, { podManagementPolicy: 'Parallel' });
  await start();
  t.same(names(), ['web-0', 'web-1', 'web-2']);
  await run(4);
  edit((set) => {
    set.spec.replicas = 1;
  });
  await harness.advance(1000);
  t.same(
    api
      .list(pods)
      .filter(isTerminating)
      .map((pod) => pod.metadata.name),
    ['web-1', 'web-2'],
  );
});

t.test('scaling down starts at the highest ordinal, and waits for each deletion', async (t) => {
  const { harness, api, start, run, edit, names, read } = setUp(t);
  await start();
  await run();
  edit((set) => {
    set.spec.replicas = 1;
  });
  const going = () =>
    api
      .list(pods)
      .filter(isTerminating)
      .map((pod) => pod.metadata.name);
  await harness.advance(60_000);
  t.same(going(), ['web-2'], 'stuck: the rest waits');
  for (const pod of api.list(pods).filter(isTerminating)) remove(harness, pod);
  await harness.advance(1000);
  t.same(going(), ['web-1']);
  await run();
  t.same(names(), ['web-0']);
  t.match(read()?.status, { replicas: 1, currentReplicas: 1 });
  t.ok(harness.events.includes('Normal SuccessfulDelete web: delete Pod web-2 in StatefulSet web successful'));
});

t.test('a rolling update starts at the highest ordinal and stops at a pod that does not become ready', async (t) => {
  const { start, run, setImage, images, read, broken, api } = setUp(t);
  await start();
  await run();
  broken.add('v2');
  setImage('v2');
  await run();
  t.same(images(), ['web-0 v1', 'web-1 v1', 'web-2 v2']);
  const [old, next] = api.list(controllerrevisions).sort((a, b) => Number(a.revision) - Number(b.revision));
  t.match(read()?.status, {
    currentRevision: old?.metadata.name,
    updateRevision: next?.metadata.name,
    currentReplicas: 2,
    updatedReplicas: 1,
    readyReplicas: 2,
  });
  broken.clear();
  await run();
  t.same(images(), ['web-0 v2', 'web-1 v2', 'web-2 v2']);
  t.match(read()?.status, { currentRevision: next?.metadata.name, currentReplicas: 3, updatedReplicas: 3 });
});

t.test('pods below the partition stay at the old revision, even when they are recreated', async (t) => {
  const { harness, start, run, setImage, images, pod, edit } = setUp(t, {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } },
  });
  await start();
  await run();
  setImage('v2');
  await run();
  t.same(images(), ['web-0 v1', 'web-1 v1', 'web-2 v2']);
  remove(harness, pod('web-0'));
  await run();
  t.same(images(), ['web-0 v1', 'web-1 v1', 'web-2 v2']);
  edit((set) => {
    set.spec.updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 0 } };
  });
  await run();
  t.same(images(), ['web-0 v2', 'web-1 v2', 'web-2 v2']);
});

t.test('OnDelete replaces deleted pods', async (t) => {
  const { harness, start, run, setImage, images, pod } = setUp(t, { updateStrategy: { type: 'OnDelete' } });
  await start();
  await run();
  setImage('v2');
  await run();
  t.same(images(), ['web-0 v1', 'web-1 v1', 'web-2 v1']);
  remove(harness, pod('web-1'));
  await run();
  t.same(images(), ['web-0 v1', 'web-1 v2', 'web-2 v1']);
});

t.test('maxUnavailable pods are replaced at once, behind its gate', async (t) => {
  const spec: Partial<StatefulSetSpec> = {
    replicas: 4,
    podManagementPolicy: 'Parallel',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable: '50%' } },
  };
  for (const maxUnavailable of [true, false]) {
    const { harness, start, run, setImage, api } = setUp(t, spec, { maxUnavailable });
    await start();
    await run(10);
    setImage('v2');
    await harness.advance(1000);
    const going = api.list(pods).filter(isTerminating);
    t.same(
      going.map((pod) => pod.metadata.name),
      maxUnavailable ? ['web-2', 'web-3'] : ['web-3'],
    );
  }
});

t.test('minReadySeconds delays the next pod', async (t) => {
  const { harness, api, start, names, read } = setUp(t, { minReadySeconds: 30 });
  await start();
  for (const pod of api.list(pods)) makeReady(harness, pod);
  await harness.advance(20_000);
  t.same(names(), ['web-0']);
  t.match(read()?.status, { readyReplicas: 1, availableReplicas: 0 });
  await harness.advance(11_000);
  t.same(names(), ['web-0', 'web-1']);
  t.match(read()?.status, { availableReplicas: 1 });
});

t.test('finished pods are recreated', async (t) => {
  const { harness, start, run, pod, names, read } = setUp(t);
  await start();
  await run();
  const { uid } = pod('web-1').metadata;
  setStatus(harness, pod('web-1'), { phase: 'Failed' });
  await run();
  t.same(names(), ['web-0', 'web-1', 'web-2']);
  t.not(pod('web-1').metadata.uid, uid);
  setStatus(harness, pod('web-2'), { phase: 'Succeeded' });
  await run();
  t.match(read()?.status, { replicas: 3, readyReplicas: 3 });
  t.ok(
    harness.events.includes('Warning RecreatingFailedPod web: StatefulSet default/web is recreating failed Pod web-1'),
  );
  t.ok(
    harness.events.includes(
      'Normal RecreatingTerminatedPod web: StatefulSet default/web is recreating terminated Pod web-2',
    ),
  );
});

t.test('each pod has its claims, which stay after its deletion', async (t) => {
  const { harness, api, start, run, pod, edit } = setUp(t, { volumeClaimTemplates: [data] });
  await start();
  await run();
  const claims = api.list(persistentvolumeclaims);
  t.same(
    claims.map((claim) => claim.metadata.name),
    ['data-web-0', 'data-web-1', 'data-web-2'],
  );
  t.match(claims[0]?.metadata, { labels: { kept: 'yes', app: 'web' }, ownerReferences: undefined });
  t.match(pod('web-2').spec.volumes, [{ name: 'data', persistentVolumeClaim: { claimName: 'data-web-2' } }]);
  t.ok(
    harness.events.includes(
      'Normal SuccessfulCreate web: create Claim data-web-0 Pod web-0 in StatefulSet web success',
    ),
  );
  edit((set) => {
    set.spec.replicas = 0;
  });
  await run();
  t.equal(api.list(persistentvolumeclaims).length, 3);
  edit((set) => {
    set.spec.replicas = 1;
  });
  await run();
  t.equal(api.list(pods).length, 1);
  t.equal(api.list(persistentvolumeclaims).length, 3);
});

t.test('the retention policy sets owners, behind its gate', async (t) => {
  const spec: Partial<StatefulSetSpec> = {
    volumeClaimTemplates: [data],
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
  };
  const off = setUp(t, spec);
  await off.start();
  await off.run();
  t.notOk(off.api.list(persistentvolumeclaims)[0]?.metadata.ownerReferences);
  const { harness, api, start, run, pod, edit, names } = setUp(t, spec, { autoDeletePVC: true });
  await start();
  await run();
  const owners = () => api.list(persistentvolumeclaims).map((claim) => claim.metadata.ownerReferences);
  t.match(owners(), [[{ kind: 'StatefulSet', uid: 'set' }], [{ uid: 'set' }], [{ uid: 'set' }]]);
  const { uid } = pod('web-2').metadata;
  edit((set) => {
    set.spec.replicas = 2;
  });
  await run();
  t.same(
    owners()[2]?.map(({ kind, uid }) => ({ kind, uid })),
    [{ kind: 'Pod', uid }],
  );
  edit((set) => {
    set.spec.replicas = 3;
  });
  await run();
  t.same(names(), ['web-0', 'web-1'], 'the old claim must be deleted first');
  api.remove(persistentvolumeclaims, 'default/data-web-2');
  await run();
  t.same(names(), ['web-0', 'web-1', 'web-2']);
  t.match(owners()[2], [{ kind: 'StatefulSet' }]);
  api.verify();
  await harness.stop();
});

t.test('a rollback reuses the old revision, and history is limited', async (t) => {
  const { start, run, setImage, images, read, api } = setUp(t, { replicas: 1, revisionHistoryLimit: 2 });
  await start();
  await run(5);
  for (const image of ['v2', 'v3', 'v4', 'v5']) {
    setImage(image);
    await run(8);
  }
  const numbers = () =>
    api
      .list(controllerrevisions)
      .map(({ revision }) => revision)
      .sort();
  t.same(numbers(), [3, 4, 5]);
  setImage('v4');
  await run(8);
  t.same(images(), ['web-0 v4']);
  t.same(numbers(), [3, 5, 6]);
  const newest = api.list(controllerrevisions).find(({ revision }) => revision === 6);
  t.equal(read()?.status?.currentRevision, newest?.metadata.name);
  t.match(newest?.data, { spec: { template: { $patch: 'replace', spec: { containers: [{ image: 'v4' }] } } } });
});

t.test('another revision with the same name increases the collision count', async (t) => {
  const first = setUp(t);
  await first.start();
  const name = first.api.list(controllerrevisions)[0]?.metadata.name ?? '';
  const { start, run, api, read } = setUp(t);
  api.seed(controllerrevisions, { metadata: { name, namespace: 'default' }, data: { other: 1 }, revision: 7 });
  await start();
  await run();
  t.equal(read()?.status?.collisionCount, 1);
  t.equal(api.list(controllerrevisions).length, 2);
  t.equal(read()?.status?.readyReplicas, 3);
});

t.test('pods and revisions with matching names are adopted', async (t) => {
  const { harness, api, start, run, pod } = setUp(t);
  await start();
  await run();
  await harness.stop();
  const again = setUp(t);
  for (const revision of api.list(controllerrevisions)) {
    delete revision.metadata.ownerReferences;
    again.api.seed(controllerrevisions, revision);
  }
  const orphan = pod('web-1');
  delete orphan.metadata.ownerReferences;
  again.api.seed(pods, orphan);
  again.api.seed<Pod>(pods, { metadata: { name: 'other-0', namespace: 'default', labels }, spec: { containers: [] } });
  await again.start();
  await again.run();
  t.match(again.api.get(pods, 'default/web-1')?.metadata.ownerReferences, [{ uid: 'set', controller: true }]);
  t.equal(again.pod('web-1').metadata.uid, orphan.metadata.uid, 'the pod stays');
  t.notOk(again.api.get(pods, 'default/other-0')?.metadata.ownerReferences);
  t.equal(again.api.list(controllerrevisions).length, 1);
  t.match(again.api.list(controllerrevisions)[0]?.metadata.ownerReferences, [{ uid: 'set', controller: true }]);
});

t.test('a removed label is restored', async (t) => {
  const { harness, api, start, run, pod } = setUp(t);
  await start();
  await run();
  api.change<Pod>(pods, 'default/web-1', (each) => {
    delete each.metadata.labels?.['statefulset.orch.io/pod-name'];
  });
  await harness.advance(1000);
  t.equal(pod('web-1').metadata.labels?.['statefulset.orch.io/pod-name'], 'web-1');
  t.ok(harness.events.includes('Normal SuccessfulUpdate web: update Pod web-1 in StatefulSet web successful'));
});

t.test('failed creations are recorded and retried', async (t) => {
  const { harness, start, run, names, read } = setUp(t, { volumeClaimTemplates: [data] });
  const q = { group: '', resource: 'persistentvolumeclaims' };
  const heal = harness.fail(
    (call) => call.verb === 'create' && call.resource === 'persistentvolumeclaims',
    forbidden(q, 'data-web-0', 'exceeded quota'),
  );
  await start();
  t.same(names(), []);
  t.match(read()?.status, { observedGeneration: 1, replicas: 0 });
  const failures = harness.events.filter((event) => event.startsWith('Warning FailedCreate'));
  t.match(failures[0], /create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: .*exceeded quota/);
  t.match(failures[1], /create Pod web-0 in StatefulSet web failed error: failed to create PVC data-web-0: /);
  heal();
  await run();
  t.same(names(), ['web-0', 'web-1', 'web-2']);
});

t.test('a namespace in deletion causes no failure', async (t) => {
  const { harness, api, start } = setUp(t, { volumeClaimTemplates: [data] });
  const refused = forbidden({ group: '', resource: 'persistentvolumeclaims' }, 'data-web-0', 'being terminated');
  const causes = [{ reason: 'NamespaceTerminating', message: 'namespace default is being terminated' }];
  const error = new StatusError({ ...refused.status, details: { ...refused.status.details, causes } });
  harness.fail((call) => call.verb === 'create' && call.resource === 'persistentvolumeclaims', error);
  await start();
  await harness.advance(60_000);
  t.same(harness.events, []);
  const tries = api.calls.filter((call) => call.verb === 'create' && call.resource === 'persistentvolumeclaims');
  t.ok(tries.length <= 2, `${tries.length} tries`);
});

t.test('a set in deletion creates nothing', async (t) => {
  const { harness, api, start, edit, names } = setUp(t);
  edit((set) => {
    set.metadata.deletionTimestamp = '2022-05-03T00:00:00Z';
    set.metadata.finalizers = ['foregroundDeletion'];
  });
  await start();
  await harness.advance(10_000);
  t.same(names(), []);
  t.ok(api.list(controllerrevisions).length <= 1);
});

t.test('a lagging cache causes no second create or delete', async (t) => {
  const { harness, api, start, run, edit } = setUp(t, { podManagementPolicy: 'Parallel' });
  await start();
  await run(6);
  api.takeWrites();
  const heal = harness.freeze('pods');
  edit((set) => {
    set.spec.replicas = 5;
  });
  await harness.advance(30_000);
  edit((set) => {
    set.spec.replicas = 1;
  });
  await harness.advance(30_000);
  t.same(
    api.takeWrites().filter((line) => line.includes(' pods ')),
    ['create pods default/web-3', 'create pods default/web-4'],
  );
  heal();
  await run();
  t.equal(api.list(pods).length, 1);
});
