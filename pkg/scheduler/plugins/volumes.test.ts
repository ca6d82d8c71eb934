/** Where a pod's volumes let it go: one node, the rules of release 1.24. */
import t from 'tap';
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '#api/core/v1/types.gen.js';
import type { CSINode, StorageClass } from '#api/storage/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { noObjects, type StorageObjects } from '#scheduler/cluster/objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import type { Plugin } from '#scheduler/framework/plugin.js';
import { nodeVolumeLimits } from '#scheduler/plugins/node-volume-limits.js';
import { volumeBinding } from '#scheduler/plugins/volume-binding/plugin.js';
import { volumeRestrictions } from '#scheduler/plugins/volume-restrictions.js';
import { volumeZone } from '#scheduler/plugins/volume-zone.js';

const { hostname, zone } = dialect.labels;

interface World {
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly PersistentVolume[];
  readonly classes?: readonly StorageClass[];
  readonly csiNode?: CSINode;
  /** Labels of the node. */
  readonly node?: Readonly<Record<string, string>>;
  /** Volumes of a pod that is on the node. */
  readonly there?: readonly Volume[];
}

const named = <T extends { metadata: { name?: string } }>(list: readonly T[] | undefined, name: string) =>
  list?.find(({ metadata }) => metadata.name === name);

function pod(name: string, volumes: readonly Volume[], nodeName?: string): Pod {
  return {
    metadata: { name, uid: name, namespace: 'default' },
    spec: { containers: [], volumes: [...volumes], ...(nodeName === undefined ? {} : { nodeName }) },
  };
}

/** Why a node refuses a pod with these volumes; undefined when it does not. */
function refused(plugin: Plugin, volumes: readonly Volume[], world: World): string | undefined {
  const storage: StorageObjects = {
    ...noObjects.storage,
    claim: (key) => named(world.claims, key.replace('default/', '')),
    volume: (name) => named(world.volumes, name),
    volumesFor: () => world.volumes ?? [],
    storageClass: (name) => named(world.classes, name),
    csiNode: () => world.csiNode,
  };
  const cluster = new Cluster(dialect, { ...noObjects, storage });
  cluster.setNode({ metadata: { name: 'n', labels: world.node ?? { [hostname]: 'n', [zone]: 'a' } }, spec: {} });
  if (world.there !== undefined) cluster.setPod(pod('there', world.there, 'n'));
  const filter = plugin.filter?.prepare(podInfo(pod('p', volumes)), cluster);
  const [node] = cluster.nodes();
  if (filter === undefined || node === undefined) return undefined;
  return (filter.begin?.() ?? filter.filter(node))?.reasons.join();
}

const uses = (...names: string[]): Volume[] =>
  names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));

function claim(name: string, more: Partial<PersistentVolumeClaim['spec']> = {}, bound = false): PersistentVolumeClaim {
  const annotations = bound ? { [dialect.annotations.bindCompleted]: 'yes' } : {};
  return {
    metadata: { name, namespace: 'default', uid: name, annotations },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...more },
  };
}

function volume(name: string, more: Partial<PersistentVolume['spec']> = {}, labels = {}): PersistentVolume {
  return {
    metadata: { name, labels },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...more },
    status: { phase: 'Available' },
  };
}

const delayed = (provisioner: string, more: Partial<StorageClass> = {}): StorageClass => ({
  metadata: { name: 'late' },
  provisioner,
  volumeBindingMode: 'WaitForFirstConsumer',
  ...more,
});

type Row = [name: string, volumes: readonly Volume[], world: World, want: string | undefined];

function table(name: string, plugin: Plugin, rows: readonly Row[]): void {
  t.test(name, (t) => {
    for (const [what, volumes, world, want] of rows) t.equal(refused(plugin, volumes, world), want, what);
    t.end();
  });
}

const noDisk = 'node(s) had no available disk';
const gce = (pdName: string, readOnly = false): Volume[] => [{ name: 'd', gcePersistentDisk: { pdName, readOnly } }];
const rbd = (image: string, ...monitors: string[]): Volume[] => [{ name: 'd', rbd: { image, monitors } }];
table('disks', volumeRestrictions, [
  ['none', [], { there: gce('a') }, undefined],
  ['another', gce('b'), { there: gce('a') }, undefined],
  ['the same', gce('a'), { there: gce('a') }, noDisk],
  ['the same, one reads only', gce('a', true), { there: gce('a') }, noDisk],
  ['the same, both read only', gce('a', true), { there: gce('a', true) }, undefined],
  [
    'the same where nobody can share',
    [{ name: 'd', awsElasticBlockStore: { volumeID: 'v', readOnly: true } }],
    { there: [{ name: 'd', awsElasticBlockStore: { volumeID: 'v', readOnly: true } }] },
    noDisk,
  ],
  ['the same image by one of the monitors', rbd('i', 'x', 'y'), { there: rbd('i', 'y', 'z') }, noDisk],
  ['another image', rbd('i', 'x'), { there: rbd('j', 'x') }, undefined],
  ['the same image elsewhere', rbd('i', 'x'), { there: rbd('i', 'z') }, undefined],
]);

const bound = claim('c', { volumeName: 'v' }, true);
table('zones', volumeZone(dialect), [
  ['no label', uses('c'), { claims: [bound], volumes: [volume('v')] }, undefined],
  ['the zone', uses('c'), { claims: [bound], volumes: [volume('v', {}, { [zone]: 'a' })] }, undefined],
  ['one of the zones', uses('c'), { claims: [bound], volumes: [volume('v', {}, { [zone]: 'b__a' })] }, undefined],
  [
    'another zone',
    uses('c'),
    { claims: [bound], volumes: [volume('v', {}, { [zone]: 'b' })] },
    'node(s) had no available volume zone',
  ],
  [
    'another zone, a node without one',
    uses('c'),
    { claims: [bound], volumes: [volume('v', {}, { [zone]: 'b' })], node: {} },
    undefined,
  ],
  ['no claim', uses('c'), {}, 'persistentvolumeclaim "c" not found'],
  [
    'a claim that waits',
    uses('c'),
    { claims: [claim('c', { storageClassName: 'late' })], classes: [delayed('x')] },
    undefined,
  ],
  [
    'a claim without a class',
    uses('c'),
    { claims: [claim('c')] },
    'PersistentVolumeClaim had no pv name and storageClass name',
  ],
]);

const csi = (handle: string) => volume(handle, { csi: { driver: 'd', volumeHandle: handle } });
const limit = (count: number): CSINode => ({
  metadata: { name: 'n' },
  spec: { drivers: [{ name: 'd', nodeID: 'n', allocatable: { count } }] },
});
const three = {
  claims: ['a', 'b', 'c'].map((name) => claim(name, { volumeName: name }, true)),
  volumes: ['a', 'b', 'c'].map(csi),
};
const full = 'node(s) exceed max volume count';
table('numbers of volumes', nodeVolumeLimits(dialect), [
  ['no limit', uses('a', 'b'), { ...three, there: uses('c') }, undefined],
  ['room', uses('a', 'b'), { ...three, there: uses('c'), csiNode: limit(3) }, undefined],
  ['no room', uses('a', 'b'), { ...three, there: uses('c'), csiNode: limit(2) }, full],
  ['one that is there already', uses('c'), { ...three, there: uses('c'), csiNode: limit(1) }, undefined],
  [
    'one that will be made',
    uses('new'),
    { claims: [claim('new', { storageClassName: 'late' })], classes: [delayed('d')], csiNode: limit(0) },
    full,
  ],
]);

const waiting = claim('c', { storageClassName: 'late' });
const local = (node: string) =>
  volume('v', {
    storageClassName: 'late',
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: hostname, operator: 'In', values: [node] }] }] },
    },
  });
const none = "node(s) didn't find available persistent volumes to bind";
table('claims', volumeBinding(dialect), [
  ['none', [], {}, undefined],
  ['not there', uses('c'), {}, 'persistentvolumeclaim "c" not found'],
  [
    'of a volume that the pod asks for itself',
    [{ name: 'c', ephemeral: {} }],
    {},
    'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-c"',
  ],
  ['bound', uses('c'), { claims: [bound], volumes: [volume('v')] }, undefined],
  [
    'bound to nothing',
    uses('c'),
    { claims: [bound] },
    'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
  ],
  [
    'bound elsewhere',
    uses('c'),
    { claims: [bound], volumes: [local('m')] },
    'node(s) had volume node affinity conflict',
  ],
  ['not bound', uses('c'), { claims: [claim('c')] }, 'pod has unbound immediate PersistentVolumeClaims'],
  ['one for it', uses('c'), { claims: [waiting], classes: [delayed('')], volumes: [local('n')] }, undefined],
  ['one for it elsewhere', uses('c'), { claims: [waiting], classes: [delayed('')], volumes: [local('m')] }, none],
  [
    'one for two',
    uses('c', 'e'),
    {
      claims: [waiting, claim('e', { storageClassName: 'late' })],
      classes: [delayed('')],
      volumes: [local('n')],
    },
    none,
  ],
  ['one will be made', uses('c'), { claims: [waiting], classes: [delayed('x')] }, undefined],
  [
    'one will be made in another zone',
    uses('c'),
    {
      claims: [waiting],
      classes: [delayed('x', { allowedTopologies: [{ matchLabelExpressions: [{ key: zone, values: ['b'] }] }] })],
    },
    none,
  ],
]);
