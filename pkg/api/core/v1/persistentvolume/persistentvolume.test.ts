import t from 'tap';
import { persistentVolumeStrategy } from '#api/core/v1/persistentvolume/strategy.js';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import { goQuantityValue } from '#api/go/go-values.js';
import { checkRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import { created, createFailures, type Draft, withField } from '#api/testing/strategy-table.js';

const base: Draft = {
  metadata: { name: 'v' },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/p' } },
};
const node = { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }] } };
const { hostPath: _, ...common } = base['spec'] as Record<string, unknown>;
/** A volume with only that source. */
const of = (source: object, ...failures: string[]): RuleRow => ['spec', { ...common, ...source }, ...failures];
const iscsi = { targetPortal: 'p:1', iqn: 'iqn.2015-02.example.com:test' };

const specs: RuleRow[] = [
  ['spec.accessModes', [], 'spec.accessModes: Required value'],
  [
    'spec.accessModes',
    ['X'],
    'spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
  ],
  [
    'spec.accessModes',
    ['ReadWriteOncePod'],
    'spec.accessModes: Unsupported value: "ReadWriteOncePod": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
  ],
  [
    'spec.capacity',
    {},
    'spec.capacity: Required value',
    'spec.capacity: Unsupported value: core.ResourceList{}: supported values: "storage"',
  ],
  ['spec.capacity', { storage: '0' }, 'spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
  [
    'spec.capacity',
    { storage: '-1' },
    'spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
    'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
  ],
  [
    'spec.capacity',
    { storage: '1', cpu: '1' },
    `spec.capacity: Unsupported value: core.ResourceList{"cpu":${goQuantityValue('1').toString()}, "storage":${goQuantityValue('1').toString()}}: supported values: "storage"`,
  ],
  [
    'spec.persistentVolumeReclaimPolicy',
    'Burn',
    'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Recycle", "Retain"',
  ],
  ['spec.persistentVolumeReclaimPolicy', 'Recycle'],
  [
    'spec.storageClassName',
    'A',
    `spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  [
    'spec.volumeMode',
    'Stream',
    'spec.volumeMode: Unsupported value: "Stream": supported values: "Block", "Filesystem"',
  ],
  ['spec.nodeAffinity', node],
  ['spec.nodeAffinity', {}, 'spec.nodeAffinity.required: Required value: must specify required node constraints'],
  [
    'spec.nodeAffinity',
    { required: {} },
    'spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term',
  ],
  [
    'spec.nodeAffinity',
    { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }] } },
    "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
  ],
  ['spec.hostPath', { path: '' }, 'spec.hostPath.path: Required value'],
  [
    'spec.hostPath',
    { path: '/a/..', type: 'X' },
    `spec.hostPath.path: Invalid value: "/a/..": must not contain '..'`,
    'spec.hostPath.type: Unsupported value: "X": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
  ],
  ['spec.hostPath', undefined, 'spec: Required value: must specify a volume type'],
  ['spec.nfs', { server: 's', path: '/' }, 'spec.nfs: Forbidden: may not specify more than 1 volume type'],
  [
    'metadata.annotations',
    { 'volume.beta.orch.io/mount-options': 'ro' },
    'metadata.annotations.volume.beta.orch.io/mount-options: Forbidden: may not specify mount options for this volume type',
  ],
];

const sources: RuleRow[] = [
  of({ gcePersistentDisk: {} }, 'spec.persistentDisk.pdName: Required value'),
  of({ awsElasticBlockStore: {} }, 'spec.awsElasticBlockStore.volumeID: Required value'),
  of({ glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: 'ns' } }),
  of(
    { glusterfs: { endpointsNamespace: '' } },
    'spec.glusterfs.endpoints: Required value',
    'spec.glusterfs.path: Required value',
    'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
  ),
  of(
    { glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: 'N' } },
    `spec.glusterfs.endpointsNamespace: Invalid value: "N": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ),
  of({ flocker: {} }, 'spec.flocker: Required value: one of datasetName and datasetUUID is required'),
  of({ nfs: { server: 's', path: 'p' } }, 'spec.nfs.path: Invalid value: "p": must be an absolute path'),
  of({ rbd: {} }, 'spec.rbd.monitors: Required value', 'spec.rbd.image: Required value'),
  of(
    { quobyte: {} },
    'spec.quobyte.registry: Required value: must be a host:port pair or multiple pairs separated by commas',
    'spec.quobyte.volume: Required value',
  ),
  of({ cephfs: {} }, 'spec.cephfs.monitors: Required value'),
  of({ iscsi }),
  of({ iscsi: { ...iscsi, iqn: 'x' } }, 'spec.iscsi.iqn: Invalid value: "x": must be valid format'),
  of({ iscsi: { ...iscsi, initiatorName: 'x' } }, 'spec.iscsi.initiatorname: Invalid value: "x": must be valid format'),
  of(
    { iscsi: { ...iscsi, initiatorName: iscsi.iqn, targetPortal: 'x'.repeat(63) } },
    'spec.iscsi.targetportal: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
  ),
  of({ iscsi: { ...iscsi, secretRef: {} } }, 'spec.iscsi.secretRef.name: Required value'),
  of(
    { cinder: { secretRef: {} } },
    'spec.cinder.volumeID: Required value',
    'spec.cinder.secretRef.name: Required value',
    'spec.cinder.secretRef.namespace: Required value',
  ),
  of({ fc: {} }, 'spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both'),
  of(
    { flexVolume: { options: { 'orch.io/a': 'b' } } },
    'spec.flexVolume.driver: Required value',
    'spec.flexVolume.options[orch.io/a]: Invalid value: "orch.io/a": orch.io namespaces are reserved',
  ),
  of(
    { azureFile: { secretNamespace: '' } },
    'spec.azureFile.secretName: Required value',
    'spec.azureFile.shareName: Required value',
    'spec.azureFile.secretNamespace: Required value',
  ),
  of({ vsphereVolume: {} }, 'spec.vsphereVolume.volumePath: Required value'),
  of({ photonPersistentDisk: {} }, 'spec.photonPersistentDisk.pdID: Required value'),
  of({ portworxVolume: {} }, 'spec.portworxVolume.volumeID: Required value'),
  of(
    { azureDisk: { diskName: 'd', diskURI: 'x' } },
    'spec.azureDisk.diskURI: Unsupported value: "x": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
  ),
  of(
    { scaleIO: {} },
    'spec.scaleIO.gateway: Required value',
    'spec.scaleIO.system: Required value',
    'spec.scaleIO.volumeName: Required value',
  ),
  of({ local: { path: '/p' }, nodeAffinity: node }),
  of({ local: { path: '/p' } }, 'spec.nodeAffinity: Required value: Local volume requires node affinity'),
  of(
    { local: { path: '/../p' }, nodeAffinity: node },
    `spec.local.path: Invalid value: "/../p": must not contain '..'`,
  ),
  of({ local: {}, nodeAffinity: node }, 'spec.local.path: Required value'),
  of(
    { storageos: { secretRef: {} } },
    'spec.storageos.volumeName: Required value',
    'spec.storageos.secretRef.name: Required value',
    'spec.storageos.secretRef.namespace: Required value',
  ),
  of({ csi: { driver: 'd', volumeHandle: 'h' } }),
  of({ csi: { driver: 'd' } }, 'spec.csi.volumeHandle: Required value'),
  of(
    { csi: { driver: 'd', volumeHandle: 'h', controllerPublishSecretRef: {} } },
    'spec.csi.controllerPublishSecretRef.name: Required value',
    'spec.csi.controllerPublishSecretRef.namespace: Required value',
  ),
  of(
    { csi: { driver: 'd', volumeHandle: 'h', controllerExpandSecretRef: { name: 'S', namespace: 'ns' } } },
    `spec.csi.controllerExpandSecretRef.name: Invalid value: "S": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ),
  of(
    { csi: { driver: 'd', volumeHandle: 'h', nodePublishSecretRef: { name: 's', namespace: 'N' } } },
    `spec.csi.nodePublishSecretRef.namespace: Invalid value: "N": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ),
];

t.test('persistent volumes are validated as in 1.24', (t) => {
  checkRules(t, persistentVolumeStrategy, base, specs);
  checkRules(t, persistentVolumeStrategy, base, sources);
  const root = withField(
    withField(base, 'spec.hostPath.path', '/a/..'),
    'spec.persistentVolumeReclaimPolicy',
    'Recycle',
  );
  t.match(createFailures(persistentVolumeStrategy, root), [
    /must not contain/,
    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
  ]);
  const options = withField(base, 'metadata.annotations', { 'volume.beta.orch.io/mount-options': 'ro' });
  t.strictSame(
    createFailures(
      persistentVolumeStrategy,
      withField(options, 'spec', { ...common, nfs: { server: 's', path: '/' } }),
    ),
    [],
  );
  t.end();
});

t.test('defaults of persistent volumes', (t) => {
  t.match(created(persistentVolumeStrategy, base), {
    spec: { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', hostPath: { type: '' } },
    status: { phase: 'Pending' },
  });
  const createdVolume = (source: object) =>
    created(persistentVolumeStrategy, withField(base, 'spec', { ...common, ...source }));
  t.match(createdVolume({ iscsi }), { spec: { iscsi: { iscsiInterface: 'default' } } });
  t.match(createdVolume({ rbd: {} }), { spec: { rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } } });
  t.match(createdVolume({ azureDisk: {} }), {
    spec: { azureDisk: { cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false } },
  });
  t.match(createdVolume({ scaleIO: {} }), { spec: { scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' } } });
  t.end();
});

t.test('allowed changes', (t) => {
  const csi = withField(base, 'spec', { ...common, csi: { driver: 'd', volumeHandle: 'h' }, nodeAffinity: node });
  const secret = { name: 's', namespace: 'ns' };
  const rows: RuleRow[] = [
    ['spec.csi.controllerExpandSecretRef', secret],
    [
      'spec.csi.nodePublishSecretRef',
      secret,
      'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
    ],
    [
      'spec.csi.volumeHandle',
      'i',
      'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
    ],
    ['spec.volumeMode', 'Block', 'volumeMode: Invalid value: "Block": field is immutable'],
    ['spec.nodeAffinity', undefined, 'nodeAffinity: Invalid value: "null": field is immutable'],
    ['spec.capacity', { storage: '2Gi' }],
    ['spec.persistentVolumeReclaimPolicy', 'Delete'],
    ['spec.claimRef', { name: 'c' }],
    ['spec.accessModes', ['ReadOnlyMany']],
  ];
  checkUpdateRules(t, persistentVolumeStrategy, csi, rows);
  const withSecret = withField(csi, 'spec.csi.controllerExpandSecretRef', secret);
  checkUpdateRules(t, persistentVolumeStrategy, withSecret, [
    [
      'spec.csi.controllerExpandSecretRef',
      { name: 't', namespace: 'ns' },
      'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
    ],
  ]);
  checkUpdateRules(t, persistentVolumeStrategy, base, [['spec.nodeAffinity', node]]);
  t.end();
});

t.test('the status of a new volume', (t) => {
  const statusOf = (draft: Draft) => (created(persistentVolumeStrategy, draft) as PersistentVolume).status;
  t.strictSame(statusOf(base), { phase: 'Pending' });
  const status = { phase: 'Bound', reason: 'Tests' };
  t.strictSame(statusOf(withField(base, 'status', status)), status, 'the status stays, as in 1.24');
  t.end();
});
