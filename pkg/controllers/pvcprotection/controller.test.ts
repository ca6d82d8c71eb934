import t, { type Test } from 'tap';
import { persistentvolumeclaims, pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { isClaimUsed, mayRelease, PVCProtectionController } from '#controllers/pvcprotection/controller.js';

const key = 'default/data';

function setUp(t: Test) {
  const harness = new Harness(t, [persistentvolumeclaims, pods]);
  const { api, clock, dialect } = harness;
  const metadata = { name: 'data', namespace: 'default', finalizers: [dialect.finalizers.pvcProtection] };
  api.seed<PersistentVolumeClaim>(persistentvolumeclaims, { metadata, spec: {} });
  const addPod = (name: string, nodeName = 'n1') =>
    api.seed<Pod>(pods, {
      metadata: { name, namespace: 'default' },
      spec: {
        containers: [],
        nodeName,
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
      },
    });
  const deleteClaim = () =>
    api.change<PersistentVolumeClaim>(persistentvolumeclaims, key, (claim) => {
      claim.metadata.deletionTimestamp = formatTime(clock.now());
    });
  const claim = () => api.get(persistentvolumeclaims, key);
  const start = () => harness.start(new PVCProtectionController(harness.context));
  return { harness, api, addPod, deleteClaim, claim, start };
}

t.test('a claim is released with the last of its pods', async (t) => {
  const { harness, api, addPod, deleteClaim, claim, start } = setUp(t);
  addPod('a');
  addPod('b');
  await start();
  deleteClaim();
  await harness.settled();
  t.ok(claim());
  api.remove(pods, 'default/a');
  await harness.settled();
  t.ok(claim());
  api.remove(pods, 'default/b');
  await harness.settled();
  t.equal(claim(), undefined);
});

t.test('a claim is released when its only pod is unscheduled', async (t) => {
  const { harness, addPod, deleteClaim, claim, start } = setUp(t);
  addPod('a', '');
  await start();
  deleteClaim();
  await harness.settled();
  t.equal(claim(), undefined);
});

t.test('a pod that the cache does not show protects its claim', async (t) => {
  const { harness, api, addPod, deleteClaim, claim, start } = setUp(t);
  await start();
  // Lists of all namespaces come from caches.
  const thaw = harness.fail(
    ({ resource, verb, namespace }) => resource === 'pods' && verb !== 'create' && namespace === undefined,
    serviceUnavailable('cut off'),
  );
  api.dropWatches();
  addPod('late');
  deleteClaim();
  await harness.advance(5);
  t.ok(claim());
  thaw();
  await harness.advance(60_000);
  api.remove(pods, 'default/late');
  await harness.advance(60_000);
  t.equal(claim(), undefined);
});

t.test('a claim without the finalizer gets it', async (t) => {
  const { harness, api, claim, start } = setUp(t);
  api.change<PersistentVolumeClaim>(persistentvolumeclaims, key, (object) => {
    object.metadata.finalizers = ['test.io/other'];
  });
  await start();
  const { finalizers } = harness.dialect;
  t.same(claim()?.metadata.finalizers, ['test.io/other', finalizers.pvcProtection]);
  t.same(api.takeWrites(), ['update persistentvolumeclaims default/data']);
});

const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pod', controller: true };
const claim = (metadata: ObjectMeta = {}): PersistentVolumeClaim => ({
  metadata: { name: 'p-data', namespace: 'default', ...metadata },
  spec: {},
});
const named = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'p-data' } }] };
const ephemeral = { volumes: [{ name: 'data', ephemeral: {} }] };
const pod = (spec: Partial<PodSpec>, metadata: ObjectMeta = {}, phase = 'Running'): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: 'pod', ...metadata },
  spec: { containers: [], nodeName: 'n1', ...spec },
  status: { phase },
});
const over = { deletionTimestamp: '2022-05-03T00:00:00Z', deletionGracePeriodSeconds: 0 };

t.test('a claim is used by pods on nodes and by finished pods', (t) => {
  const mine = claim({ ownerReferences: [owner] });
  const rows: [name: string, claim: PersistentVolumeClaim, pod: Pod, used: boolean][] = [
    ['by its name', claim(), pod(named), true],
    ['in another namespace', claim(), pod(named, { namespace: 'other' }), false],
    ['unscheduled', claim(), pod({ ...named, nodeName: '' }), false],
    ['ended', claim(), pod(named, {}, 'Succeeded'), true],
    ['finished and kept by finalizers', claim(), pod(named, over), true],
    ['another claim', claim({ name: 'other' }), pod(named), false],
    ['an ephemeral volume', mine, pod(ephemeral), true],
    ['an ephemeral volume of another pod', mine, pod(ephemeral, { uid: 'next' }), false],
    ['a claim that only has the name of an ephemeral volume', claim(), pod(ephemeral), false],
    ['an ephemeral volume of a stopped pod', mine, pod(ephemeral, over), false],
    [
      'an ephemeral volume of a terminating pod',
      mine,
      pod(ephemeral, { ...over, deletionGracePeriodSeconds: 30 }),
      true,
    ],
    ['no pods', claim(), pod({}), false],
  ];
  for (const [name, given, by, used] of rows) t.equal(isClaimUsed(given, [pod({}), by]), used, name);
  t.end();
});

t.test('changes that may release claims enqueue them', (t) => {
  t.notOk(mayRelease(pod(named)));
  t.ok(mayRelease(pod({ ...named, nodeName: '' })));
  t.ok(mayRelease(pod(named, {}, 'Failed')));
  t.ok(mayRelease(pod(named, over)));
  t.end();
});
