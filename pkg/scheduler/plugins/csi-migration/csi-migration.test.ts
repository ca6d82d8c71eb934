/** Migrated disks of in-tree plugins count for the CSI driver on that node, and no longer for the plugin. */
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { CsiMigration } from '#scheduler/plugins/csi-migration/csi-migration.js';
import { diskKinds, diskLimits } from '#scheduler/plugins/disk-limits.js';
import { nodeVolumeLimits } from '#scheduler/plugins/node-volume-limits.js';
import { answer, table } from '#scheduler/testing/plugin-table.js';
import { boundClaim, claim, claimVolumes, delayedClass, storageOf, volume } from '#scheduler/testing/storage.js';

const no = 'node(s) exceed max volume count';
const named = (plugin: string) => `${dialect.labelDomain}/${plugin}`;
type Spec = Partial<PersistentVolume['spec']>;

interface Disk {
  readonly plugin: string;
  readonly driver: string;
  readonly own: Spec;
  readonly labels?: Readonly<Record<string, string>>;
  /** The driver's handle of the disk. */
  readonly handle: string;
}

const zone = (text: string) => ({ labels: { [dialect.labels.zone]: text } });
const rbd = { rbd: { monitors: ['a', 'b'], image: 'i' } };
const disks = {
  aws: {
    plugin: 'aws-ebs',
    driver: 'ebs.csi.aws.com',
    own: { awsElasticBlockStore: { volumeID: 'aws://eu-1a/vol-1' } },
    handle: 'vol-1',
  },
  'aws, short': {
    plugin: 'aws-ebs',
    driver: 'ebs.csi.aws.com',
    own: { awsElasticBlockStore: { volumeID: 'vol-1' } },
    handle: 'vol-1',
  },
  'gce, one zone': {
    plugin: 'gce-pd',
    driver: 'pd.csi.storage.gke.io',
    own: { gcePersistentDisk: { pdName: 'd' } },
    ...zone('eu-1-a'),
    handle: 'projects/UNSPECIFIED/zones/eu-1-a/disks/d',
  },
  'gce, two zones': {
    plugin: 'gce-pd',
    driver: 'pd.csi.storage.gke.io',
    own: { gcePersistentDisk: { pdName: 'd' } },
    ...zone('eu-1-a__eu-1-b'),
    handle: 'projects/UNSPECIFIED/regions/eu-1/disks/d',
  },
  'gce, anywhere': {
    plugin: 'gce-pd',
    driver: 'pd.csi.storage.gke.io',
    own: { gcePersistentDisk: { pdName: 'd' } },
    handle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d',
  },
  azure: {
    plugin: 'azure-disk',
    driver: 'disk.csi.azure.com',
    own: { azureDisk: { diskName: 'd', diskURI: '/uri/d' } },
    handle: '/uri/d',
  },
  cinder: { plugin: 'cinder', driver: 'cinder.csi.openstack.org', own: { cinder: { volumeID: 'd' } }, handle: 'd' },
  portworx: {
    plugin: 'portworx-volume',
    driver: 'pxd.portworx.com',
    own: { portworxVolume: { volumeID: 'd' } },
    handle: 'd',
  },
  rbd: { plugin: 'rbd', driver: 'rbd.csi.ceph.com', own: rbd, handle: 'a,b/rbd/i' },
} satisfies Readonly<Record<string, Disk>>;
type Name = keyof typeof disks;

interface Where {
  /** Plugins that the node migrated; default: the disk's. */
  readonly migrated?: string;
  readonly gates?: Readonly<Record<string, boolean>>;
  /** Claims of a pod on the node: `disk`, `same` (its CSI volume), `other` (of the driver), `new`, `late` (of a class). */
  readonly there?: string;
  readonly own?: string;
  readonly limit?: number;
}

const allOn = { CSIMigrationStorageA: true, CSIMigrationRBD: true };

function world(name: Name, { gates = allOn, limit = 1, migrated, own = 'disk', there = '' }: Where) {
  const { driver, handle, own: spec, plugin, ...more }: Disk = disks[name];
  const annotations = { [dialect.annotations.migratedPlugins]: migrated ?? named(plugin) };
  const migration = new CsiMigration(dialect, new FeatureGates(gates));
  const names = (text: string) => claimVolumes(...text.split(' ').filter(Boolean));
  const storage = storageOf({
    claims: [
      ...['disk', 'same', 'other'].map((each) => boundClaim(each)),
      claim('new', { storageClassName: 'of-plugin' }),
      claim('late', { storageClassName: 'of-driver' }),
    ],
    volumes: [
      volume('disk', spec, more.labels),
      volume('same', { csi: { driver, volumeHandle: handle } }),
      volume('other', { csi: { driver, volumeHandle: 'other' } }),
    ],
    classes: [delayedClass('of-plugin', named(plugin)), delayedClass('of-driver', driver)],
    csiNode: {
      metadata: { name: 'n', annotations },
      spec: { drivers: [{ name: driver, nodeID: 'n', allocatable: { count: limit } }] },
    },
  });
  const pods = there === '' ? [] : [{ spec: { volumes: names(there) } }];
  return { migration, fields: { spec: { volumes: names(own) } }, world: { storage, pods } };
}

const ofDriver = (name: Name, where: Where = {}) => {
  const { fields, migration, world: there } = world(name, where);
  return answer(nodeVolumeLimits(dialect, migration), fields, there);
};

table(
  'each kind of disk counts for its driver, like a CSI volume with the same handle',
  (name: Name) => [
    ofDriver(name, { limit: 0 }),
    ofDriver(name, { there: 'other' }),
    ofDriver(name, { there: 'same' }),
    ofDriver(name, { limit: 0, own: 'new' }),
    ofDriver(name, { limit: 0, migrated: '' }),
  ],
  (Object.keys(disks) as Name[]).map((name) => [name, name, [no, no, 'ok', no, 'ok']] as const),
);

table('when a disk counts for its driver', ofDriver, [
  ['the node has migrated several plugins', 'aws', { limit: 0, migrated: `${named('x')},${named('aws-ebs')}` }, no],
  ['the node has migrated other plugins only', 'aws', { limit: 0, migrated: named('gce-pd') }, 'ok'],
  ['the node has migrated a plugin with a longer name', 'aws', { limit: 0, migrated: named('aws-ebs-2') }, 'ok'],
  ['CSIMigration is off', 'aws', { limit: 0, gates: { CSIMigration: false } }, 'ok'],
  [
    'CSIMigration is off, for a plugin without its own gate',
    'cinder',
    { limit: 0, gates: { CSIMigration: false } },
    'ok',
  ],
  ['the gate of the plugin is off', 'aws', { limit: 0, gates: { CSIMigrationCloudA: false } }, 'ok'],
  ['the gate of another plugin is off', 'aws', { limit: 0, gates: { CSIMigrationCloudC: false } }, no],
  ['a plugin whose gate is off by default, RBD', 'rbd', { limit: 0, gates: {} }, 'ok'],
  ['a plugin whose gate is off by default, Portworx', 'portworx', { limit: 0, gates: {} }, 'ok'],
  ['existing CSI volumes count without migration', 'aws', { limit: 0, migrated: '', own: 'other' }, no],
  ['volumes to be provisioned count without migration', 'aws', { limit: 0, migrated: '', own: 'late' }, no],
  ['disks on the node count', 'aws', { there: 'disk', own: 'other' }, no],
  ['disks on the node do not count without migration', 'aws', { there: 'disk', own: 'other', migrated: '' }, 'ok'],
  ['both pods use a volume that is not provisioned yet', 'aws', { there: 'new', own: 'new' }, 'ok'],
]);

const ofPlugin = (kind: keyof typeof diskKinds, name: Name, where: Where = {}) => {
  const { fields, migration, world: there } = world(name, where);
  return answer(diskLimits(diskKinds[kind], dialect, 1, migration), fields, there);
};
const two = { own: 'disk new' };
table('limits of in-tree plugins', ofPlugin, [
  ['AWS, migrated', 'ebs', 'aws', two, 'ok'],
  ['AWS, not migrated', 'ebs', 'aws', { ...two, migrated: '' }, no],
  ['AWS, the gate is off', 'ebs', 'aws', { ...two, gates: { CSIMigrationCloudA: false } }, no],
  ['GCE, migrated', 'gce', 'gce, one zone', two, 'ok'],
  ['GCE, not migrated', 'gce', 'gce, one zone', { ...two, migrated: '' }, no],
  ['Azure, migrated', 'azure', 'azure', two, 'ok'],
  ['Azure, not migrated', 'azure', 'azure', { ...two, migrated: '' }, no],
  ['OpenStack, migrated', 'cinder', 'cinder', two, 'ok'],
  ['OpenStack, not migrated', 'cinder', 'cinder', { ...two, migrated: '' }, no],
]);
