import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, Pod } from '#api/core/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import { controllerMetrics } from '#controllers/framework/metrics.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { PersistentVolumeBinder } from '#controllers/persistentvolumebinder/controller.js';
import type { HostDirectories } from '#controllers/persistentvolumebinder/host-path.js';

const claimKey = 'default/data';
const recyclers = {
  hostPath: { minimumSeconds: 60, secondsPerGi: 30 },
  nfs: { minimumSeconds: 300, secondsPerGi: 30 },
};

function setUp(t: Test) {
  const harness = new Harness(t, [persistentvolumes, persistentvolumeclaims, pods, storageclasses]);
  const { api } = harness;
  const registry = new Registry();
  const addVolume = (name: string, size: string, spec: Partial<PersistentVolumeSpec> = {}, annotations = {}) =>
    api.seed<PersistentVolume>(persistentvolumes, {
      metadata: { name, annotations },
      spec: {
        capacity: { storage: size },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        ...spec,
      },
    });
  const addClaim = (spec: PersistentVolumeClaim['spec'] = {}, name = 'data') =>
    api.seed<PersistentVolumeClaim>(persistentvolumeclaims, {
      metadata: { name, namespace: 'default' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    });
  const addClass = (provisioner: string, volumeBindingMode = 'Immediate') =>
    api.seed<StorageClass>(storageclasses, { metadata: { name: 'gold' }, provisioner, volumeBindingMode });
  const start = (hostDirectories?: HostDirectories) =>
    harness.start(
      new PersistentVolumeBinder(
        { ...harness.context, metrics: controllerMetrics(registry) },
        {
          syncPeriodMs: 15_000,
          provisioning: true,
          honorPolicy: false,
          recyclers,
          ...(hostDirectories && { hostDirectories }),
        },
      ),
    );
  const claim = (name = 'data') => api.get(persistentvolumeclaims, `default/${name}`);
  const volume = (name: string) => api.get(persistentvolumes, name);
  const value = async (name: string, labels: object) =>
    (await registry.getSingleMetric(name)?.get())?.values.find(({ labels: given }) =>
      Object.entries(labels).every(([key, each]) => (given as Record<string, unknown>)[key] === each),
    )?.value;
  return { harness, api, addVolume, addClaim, addClass, start, claim, volume, value };
}

t.test('a claim gets the smallest volume, which is released after its deletion', async (t) => {
  const { harness, api, addVolume, addClaim, start, claim, volume, value } = setUp(t);
  addVolume('large', '9Gi');
  addVolume('small', '2Gi');
  await start();
  t.equal(volume('small')?.status?.phase, 'Available');
  addClaim();
  await harness.settled();
  t.match(volume('small'), {
    metadata: { annotations: { 'pv.orch.io/bound-by-controller': 'yes' } },
    spec: { claimRef: { kind: 'PersistentVolumeClaim', name: 'data', uid: claim()?.metadata.uid } },
    status: { phase: 'Bound' },
  });
  t.match(claim(), {
    metadata: { annotations: { 'pv.orch.io/bound-by-controller': 'yes', 'pv.orch.io/bind-completed': 'yes' } },
    spec: { volumeName: 'small' },
    status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '2Gi' } },
  });
  t.same(harness.events, []);
  t.equal(await value('pv_collector_bound_pv_count', { storage_class: '' }), 1);
  t.equal(await value('pv_collector_unbound_pv_count', { storage_class: '' }), 1);
  t.equal(await value('pv_collector_bound_pvc_count', { namespace: 'default' }), 1);
  t.equal(await value('pv_collector_total_pv_count', { plugin_name: 'N/A', volume_mode: 'Filesystem' }), 2);
  api.remove(persistentvolumeclaims, claimKey);
  await harness.settled();
  t.equal(volume('small')?.status?.phase, 'Released');
  addClaim({}, 'next');
  await harness.settled();
  t.equal(claim('next')?.spec.volumeName, 'large', 'a released volume is not used again');
});

t.test('concurrent claims get different volumes', async (t) => {
  const { harness, api, addVolume, addClaim, start, claim } = setUp(t);
  for (let i = 0; i < 20; i += 1) addVolume(`v${i}`, `${1 + i}Gi`);
  await start();
  api.takeWrites();
  const thaw = harness.freeze('persistentvolumes');
  for (let i = 0; i < 20; i += 1) addClaim({}, `c${i}`);
  await harness.advance(5000);
  const names = new Set(Array.from({ length: 20 }, (_, i) => claim(`c${i}`)?.spec.volumeName));
  t.equal(names.size, 20);
  t.equal(api.takeWrites().length, 80, 'no conflict occurs');
  thaw();
});

t.test('a claim waits for a volume', async (t) => {
  const { harness, addVolume, addClaim, start, claim } = setUp(t);
  addClaim();
  await start();
  t.equal(claim()?.status?.phase, 'Pending');
  t.same(
    [...new Set(harness.events)],
    ['Normal FailedBinding data: no persistent volumes available for this claim and no storage class is set'],
  );
  addVolume('small', '1Mi');
  addVolume('late', '1Gi');
  await harness.settled();
  t.equal(claim()?.spec.volumeName, 'late', 'once a volume exists');
});

t.test('a claim waits for the volume that names it', async (t) => {
  const { harness, addVolume, addClaim, start, claim } = setUp(t);
  addClaim({ storageClassName: 'other' });
  await start();
  addVolume('own', '1Gi', { claimRef: { namespace: 'default', name: 'data' } });
  await harness.settled();
  t.equal(claim()?.spec.volumeName, 'own');
});

t.test('an external provisioner creates and deletes a volume', async (t) => {
  const { harness, api, addVolume, addClaim, addClass, start, claim, volume, value } = setUp(t);
  addClass('disk.example.com');
  addClaim({ storageClassName: 'gold' });
  await start();
  t.match(claim()?.metadata.annotations, {
    'volume.orch.io/storage-provisioner': 'disk.example.com',
    'volume.beta.orch.io/storage-provisioner': 'disk.example.com',
  });
  t.match(
    harness.events[0],
    /^Normal ExternalProvisioning data: waiting for a volume to be created, either by external/,
  );
  await harness.advance(7000);
  const { uid = '' } = claim()?.metadata ?? {};
  const spec = {
    storageClassName: 'gold',
    claimRef: { namespace: 'default', name: 'data', uid },
    persistentVolumeReclaimPolicy: 'Delete',
  };
  addVolume('made', '1Gi', spec, { 'pv.orch.io/provisioned-by': 'disk.example.com' });
  await harness.settled();
  t.match(claim(), { spec: { volumeName: 'made' }, status: { phase: 'Bound' } });
  t.equal(volume('made')?.metadata.annotations?.['pv.orch.io/bound-by-controller'], undefined);
  const labels = { plugin_name: 'disk.example.com', operation_name: 'provision' };
  t.equal(await value('volume_operation_total_seconds', { ...labels, le: 5 }), 0);
  t.equal(await value('volume_operation_total_seconds', { ...labels, le: 10 }), 1);
  api.remove(persistentvolumeclaims, claimKey);
  await harness.settled();
  t.equal(volume('made')?.status?.phase, 'Released');
  api.remove(persistentvolumes, 'made');
  await harness.settled();
  t.equal(await value('volume_operation_total_seconds', { ...labels, operation_name: 'delete', le: 5 }), 1);
});

t.test('a volume without deleter fails', async (t) => {
  const { harness, api, addVolume, addClaim, start, volume } = setUp(t);
  addVolume('v', '1Gi', { persistentVolumeReclaimPolicy: 'Delete' });
  await start();
  addClaim();
  await harness.settled();
  api.remove(persistentvolumeclaims, claimKey);
  await harness.advance(60_000);
  const message = 'error getting deleter volume plugin for volume "v": no deletable volume plugin matched';
  t.same(volume('v')?.status, { phase: 'Failed', message });
  t.same(harness.events, [`Warning VolumeFailedDelete v: ${message}`]);
});

t.test('a claim whose volume is deleted is lost', async (t) => {
  const { harness, api, addVolume, addClaim, start, claim } = setUp(t);
  addVolume('v', '1Gi');
  await start();
  addClaim();
  await harness.settled();
  api.remove(persistentvolumes, 'v');
  await harness.advance(60_000);
  t.match(claim()?.status, { phase: 'Lost' });
  t.equal(claim()?.status?.capacity, undefined);
  t.same(harness.events, [
    'Warning ClaimLost data: Bound claim has lost its PersistentVolume. Data on the volume is lost!',
  ]);
});

t.test('a claim that the cache does not show yet keeps its volume', async (t) => {
  const { harness, addVolume, addClaim, start, volume, claim } = setUp(t);
  await start();
  const thaw = harness.freeze('persistentvolumeclaims');
  const { uid = '' } = addClaim().metadata;
  // Another manager has bound the volume.
  addVolume('v', '1Gi', { claimRef: { namespace: 'default', name: 'data', uid } });
  const looks = harness.api.intercept((call) =>
    call.resource === 'persistentvolumeclaims' && call.verb === 'get' ? claim() : undefined,
  );
  await harness.settled();
  t.not(volume('v')?.status?.phase, 'Released');
  looks();
  thaw();
  await harness.advance(60_000);
  t.equal(volume('v')?.status?.phase, 'Bound');
});

t.test('a recycled volume is emptied by a pod and becomes available', async (t) => {
  const { harness, api, addVolume, addClaim, start, claim, volume } = setUp(t);
  const podKey = 'default/recycler-for-disk';
  const pod = () => api.get(pods, podKey);
  const end = (phase: string) =>
    api.change<Pod>(pods, podKey, (object) => {
      object.status = { phase };
    });
  const policy = { persistentVolumeReclaimPolicy: 'Recycle', hostPath: { path: '/data' } };
  addVolume('disk', '9Gi', policy);
  addClaim();
  await start();
  t.equal(claim()?.spec.volumeName, 'disk');
  api.seed<Pod>(pods, {
    metadata: { name: 'user', namespace: 'default' },
    spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
  });
  api.remove(persistentvolumeclaims, claimKey);
  await harness.settled();
  t.notOk(pod());
  t.ok(harness.events.includes('Normal VolumeFailedRecycle disk: Volume is used by pods: default/user'));
  api.remove(pods, 'default/user');
  await harness.advance(15_000);
  t.match(pod()?.spec, {
    activeDeadlineSeconds: 270,
    volumes: [{ name: 'vol', hostPath: { path: '/data' } }],
    restartPolicy: 'Never',
  });
  t.equal(volume('disk')?.status?.phase, 'Released');
  end('Failed');
  await harness.settled();
  t.match(volume('disk')?.status, {
    phase: 'Failed',
    message: 'Recycle failed: failed to recycle volume: pod failed, pod.Status.Message unknown',
  });
  await harness.advance(15_000);
  end('Succeeded');
  await harness.settled();
  t.notOk(pod(), 'deleted');
  t.equal(volume('disk')?.status?.phase, 'Available');
  t.equal(volume('disk')?.spec.claimRef, undefined);
  t.ok(harness.events.includes('Normal VolumeRecycled disk: Volume recycled'));
});

t.test('old recycler pods are replaced, and those of deleted volumes removed', async (t) => {
  const { harness, api, addVolume, start, volume } = setUp(t);
  const claimRef = { name: 'data', namespace: 'default', uid: 'gone' };
  const persistentVolumeReclaimPolicy = 'Recycle';
  addVolume('nothing', '1Gi', { persistentVolumeReclaimPolicy, claimRef });
  addVolume('share', '1Gi', { persistentVolumeReclaimPolicy, claimRef, nfs: { server: 's', path: '/p' } });
  const old = api.seed<Pod>(pods, {
    metadata: { name: 'recycler-for-share', namespace: 'default' },
    spec: { containers: [] },
    status: { phase: 'Succeeded' },
  });
  await start();
  t.ok(harness.events.includes('Warning VolumeFailedRecycle nothing: No recycler plugin found for the volume!'));
  t.ok(
    harness.events.includes(
      'Warning VolumeFailedRecycle share: Recycle failed: old recycler pod found, will retry later',
    ),
  );
  await harness.advance(15_000);
  t.equal(volume('share')?.status?.phase, 'Failed');
  const pod = api.get(pods, 'default/recycler-for-share');
  t.not(pod?.metadata.uid, old.metadata.uid);
  t.match(pod?.spec, { activeDeadlineSeconds: 300, volumes: [{ name: 'vol', nfs: { server: 's', path: '/p' } }] });
  api.remove(persistentvolumes, 'share');
  await harness.settled();
  t.notOk(api.get(pods, 'default/recycler-for-share'));
});

t.test('host directories are provisioned if enabled', async (t) => {
  const { harness, addVolume, addClaim, addClass, api, start, claim, volume } = setUp(t);
  const done: string[] = [];
  addClass('orch.io/host-path');
  addClaim({ storageClassName: 'gold' });
  await start({
    make: async (path) => void done.push(`make ${path}`),
    remove: async (path) => void done.push(`remove ${path}`),
  });
  await harness.advance(1000);
  const { uid = '' } = claim()?.metadata ?? {};
  const name = `pvc-${uid}`;
  const path = `/tmp/hostpath_pv/${uid}`;
  t.match(claim(), { spec: { volumeName: name }, status: { phase: 'Bound' } });
  t.match(volume(name), {
    metadata: { annotations: { 'pv.orch.io/provisioned-by': 'orch.io/host-path' } },
    spec: { hostPath: { path }, capacity: { storage: '1Gi' }, storageClassName: 'gold' },
  });
  t.ok(
    harness.events.includes(
      `Normal ProvisioningSucceeded data: Successfully provisioned volume ${name} using orch.io/host-path`,
    ),
  );
  const claimRef = { name: 'data', namespace: 'default', uid: 'gone' };
  const foreign = {
    persistentVolumeReclaimPolicy: 'Delete',
    hostPath: { path: '/tmp/hostpath_pv/../../etc' },
    claimRef,
  };
  addVolume('foreign', '1Gi', foreign, { 'pv.orch.io/provisioned-by': 'orch.io/host-path' });
  api.remove(persistentvolumeclaims, claimKey);
  await harness.advance(1000);
  t.notOk(volume(name));
  t.same(done, [`make ${path}`, `remove ${path}`], 'no other directory is removed');
  t.match(volume('foreign')?.status, { phase: 'Failed', message: /^host_path deleter only supports/ });
});
