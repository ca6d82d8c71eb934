import t from 'tap';
import { nodes, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { StatusError } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { LocalDirectoryVolumes, unsupportedReason } from '#controllers/persistentvolumebinder/local-directory.js';
import { VolumeElsewhereError } from '#controllers/persistentvolumebinder/volume-provisioner.js';

const storageClass: StorageClass = {
  metadata: { name: 'local' },
  provisioner: 'local.storage.orch.io',
  volumeBindingMode: 'WaitForFirstConsumer',
};

const claim = (spec: PersistentVolumeClaim['spec'] = {}): PersistentVolumeClaim => ({
  metadata: {
    ...{ name: 'data', namespace: 'default', uid: 'u1', resourceVersion: '7' },
    annotations: { [dialect.annotations.selectedNode]: 'n1' },
  },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});

t.test('unsupported claims and classes are rejected', async (t) => {
  const of = (spec: PersistentVolumeClaim['spec'], changed: Partial<StorageClass> = {}) =>
    unsupportedReason(claim(spec), { ...storageClass, ...changed });
  t.equal(of({}), undefined);
  t.equal(of({ accessModes: ['ReadWriteOncePod'] }), undefined);
  t.match(of({}, { volumeBindingMode: 'Immediate' }), 'StorageClass "local" must have volumeBindingMode');
  t.match(of({ accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }), 'access mode ReadWriteMany');
  t.match(of({ volumeMode: 'Block' }), 'not a block device');
  t.match(of({ selector: {} }), 'claim.spec.selector is not supported');
  t.match(of({ dataSource: { kind: 'PersistentVolumeClaim', name: 'other' } }), 'data sources');
  t.match(of({}, { parameters: { path: '/data' } }), 'unknown parameter: path');
});

/** An API server whose node agents respond with `agent`. */
function setUp(agent: (method: string, path: string) => unknown) {
  const api = new FakeApi({ dialect, clock: realClock, resources: [nodes, persistentvolumes] });
  const requests: string[] = [];
  const client: Client = {
    dialect,
    resource: (type) => api.client.resource(type),
    request: async <R>(method: string, path: string) => {
      requests.push(`${method} ${path}`);
      return agent(method, path) as R;
    },
    close: async () => undefined,
  };
  return { api, requests, volumes: new LocalDirectoryVolumes(client) };
}

const node = { metadata: { name: 'n1', labels: { [dialect.labels.hostname]: 'h1' } }, spec: {} };
const directory = '/api/v1/nodes/n1/proxy/localVolumes/pvc-u1';
const refused = (code: number) => () => {
  throw new StatusError({ code, message: 'no', ...(code === 404 && { reason: 'NotFound' }) });
};

t.test('the directory is created and removed on the selected node', async (t) => {
  const { api, requests, volumes } = setUp((method) => (method === 'PUT' ? { path: '/data/pvc-u1' } : {}));
  api.seed(nodes, node);
  const provisioned = await volumes.provision(claim(), storageClass);
  t.match(api.get(persistentvolumes, 'pvc-u1'), {
    metadata: {
      annotations: {
        'pv.orch.io/provisioned-by': 'local.storage.orch.io',
        'pv.orch.io/local-directory-node': 'n1',
        'pv.orch.io/bound-by-controller': 'yes',
      },
    },
    spec: {
      local: { path: '/data/pvc-u1' },
      capacity: { storage: '1Gi' },
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'local',
      claimRef: { name: 'data', namespace: 'default', uid: 'u1' },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'orch.io/hostname', operator: 'In', values: ['h1'] }] }],
        },
      },
    },
  });
  t.same(await volumes.provision(claim(), storageClass), provisioned, 'provisioning is idempotent');
  const volume = api.get(persistentvolumes, 'pvc-u1');
  if (volume !== undefined) await volumes.delete(volume);
  t.notOk(api.get(persistentvolumes, 'pvc-u1'));
  t.same(requests, [`PUT ${directory}?bytes=1073741824`, `PUT ${directory}?bytes=1073741824`, `DELETE ${directory}`]);
});

t.test('another node must be selected when the node does not support directories', async (t) => {
  const absent = setUp(() => ({ path: '/x' }));
  await t.rejects(absent.volumes.provision(claim(), storageClass), new VolumeElsewhereError('node "n1" not found'));
  const other = setUp(refused(404));
  other.api.seed(nodes, node);
  await t.rejects(other.volumes.provision(claim(), storageClass), VolumeElsewhereError);
  const unlabelled = setUp(() => ({ path: '/x' }));
  unlabelled.api.seed(nodes, { metadata: { name: 'n1' }, spec: {} });
  await t.rejects(unlabelled.volumes.provision(claim(), storageClass), VolumeElsewhereError);
  t.same(unlabelled.requests, [], 'no directory is created');
});

t.test('an unavailable node is retried; a malformed response is rejected', async (t) => {
  const away = setUp(refused(503));
  away.api.seed(nodes, node);
  await t.rejects(away.volumes.provision(claim(), storageClass), StatusError);
  for (const answer of [{}, { path: 7 }, { path: 'relative' }]) {
    const lying = setUp(() => answer);
    lying.api.seed(nodes, node);
    await t.rejects(lying.volumes.provision(claim(), storageClass), /returned no path/);
    t.same(lying.api.list(persistentvolumes), []);
  }
});

t.test('a volume is deleted only after its directory or its node', async (t) => {
  const volume = {
    metadata: { name: 'pvc-u1', annotations: { [dialect.annotations.localVolumeNode]: 'n1' } },
    spec: {},
  };
  for (const [what, code, isThere, goes] of [
    ['the node is unavailable', 503, true, false],
    ['the directory is in use', 409, true, false],
    ['the node exists without support for directories', 404, true, false],
    ['the node is deleted', 404, false, true],
  ] as const) {
    const { api, volumes } = setUp(refused(code));
    if (isThere) api.seed(nodes, node);
    const seeded = api.seed(persistentvolumes, volume);
    await volumes.delete(seeded).catch(() => undefined);
    t.equal(api.get(persistentvolumes, 'pvc-u1') === undefined, goes, what);
  }
});
