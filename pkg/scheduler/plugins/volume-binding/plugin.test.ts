import type { PersistentVolume, PersistentVolumeClaim, Volume } from '#api/core/v1/types.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { volumeBinding } from '#scheduler/plugins/volume-binding/plugin.js';
import { answer, node, table } from '#scheduler/testing/plugin-table.js';
import {
  boundClaim,
  claim,
  claimVolumes,
  delayedClass,
  type StoredObjects,
  storageOf,
  volume,
} from '#scheduler/testing/storage.js';

const { hostname, zone } = dialect.labels;
const plugin = volumeBinding(dialect);
const nodes = [node('n', { [hostname]: 'n', [zone]: 'a' })];
const ask = (volumes: Volume[], stored: StoredObjects) =>
  answer(plugin, { spec: { volumes } }, { nodes, storage: storageOf(stored) });

const elsewhere = '!node(s) had volume node affinity conflict';
const none = "!node(s) didn't find available persistent volumes to bind";
const noVolume = '!node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)';
const noSpace = '!node(s) did not have enough free storage';
const immediate = '!pod has unbound immediate PersistentVolumeClaims';

/** A volume reachable from nodes with that label. */
const local = (name: string, key: string, values: string[], more: Partial<PersistentVolume['spec']> = {}) =>
  volume(name, {
    storageClassName: 'late',
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }] } },
    ...more,
  });
const here = (name: string, more: Partial<PersistentVolume['spec']> = {}) => local(name, hostname, ['n'], more);
const there = (name: string, more: Partial<PersistentVolume['spec']> = {}) => local(name, hostname, ['m'], more);
const late = (name: string, more: Partial<PersistentVolumeClaim['spec']> = {}, metadata: object = {}) =>
  claim(name, { storageClassName: 'late', ...more }, metadata);

const own = (claims: PersistentVolumeClaim[]) =>
  ask([{ name: 'c', ephemeral: {} }], { claims, volumes: [volume('v')] });
const owned = (by: OwnerReference): PersistentVolumeClaim => {
  const bound = boundClaim('p-c', 'v');
  return { ...bound, metadata: { ...bound.metadata, ownerReferences: [by] } };
};
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p', controller: true };
const notOwner = '!PVC default/p-c was not created for pod default/p (pod is not owner)';
table('claims of ephemeral volumes', own, [
  ['the claim is missing', [], '!waiting for ephemeral volume controller to create the persistentvolumeclaim "p-c"'],
  ['the claim exists', [owned(owner)], 'ok'],
  ['the claim of an earlier pod with the same name', [owned({ ...owner, uid: 'q' })], notOwner],
  ['a claim without an owner', [boundClaim('p-c', 'v')], notOwner],
  ['the pod owns the claim but does not control it', [owned({ ...owner, controller: false })], notOwner],
]);

table('claims that must be bound', ask, [
  ['no volumes', [], {}, 'ok'],
  ['volumes without claims', [{ name: 'v', emptyDir: {} }], {}, 'ok'],
  ['a missing claim', claimVolumes('c'), {}, '!persistentvolumeclaim "c" not found'],
  ['a bound claim', claimVolumes('c'), { claims: [boundClaim('c', 'v')], volumes: [volume('v')] }, 'ok'],
  ['a volume of this node', claimVolumes('c'), { claims: [boundClaim('c', 'v')], volumes: [here('v')] }, 'ok'],
  [
    'a volume of this zone',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [local('v', zone, ['b', 'a'])] },
    'ok',
  ],
  ['a volume of another node', claimVolumes('c'), { claims: [boundClaim('c', 'v')], volumes: [there('v')] }, elsewhere],
  [
    'a volume of another zone',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [local('v', zone, ['b'])] },
    elsewhere,
  ],
  [
    'a volume that requires a label that the node lacks',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [local('v', 'rack', ['1'])] },
    elsewhere,
  ],
  [
    'a volume with an empty list of terms, which matches no node',
    claimVolumes('c'),
    {
      claims: [boundClaim('c', 'v')],
      volumes: [volume('v', { nodeAffinity: { required: { nodeSelectorTerms: [] } } })],
    },
    elsewhere,
  ],
  [
    'a volume without required affinity',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [volume('v', { nodeAffinity: {} })] },
    'ok',
  ],
  ['a missing volume', claimVolumes('c'), { claims: [boundClaim('c', 'v')] }, noVolume],
  [
    'two claims, the second with a volume of another node',
    claimVolumes('c', 'd'),
    { claims: [boundClaim('c'), boundClaim('d')], volumes: [here('c'), there('d')] },
    elsewhere,
  ],
  [
    'two claims, the first with a volume of another node, the second with a missing volume',
    claimVolumes('c', 'd'),
    { claims: [boundClaim('c'), boundClaim('d')], volumes: [there('c')] },
    elsewhere,
  ],
  ['an unbound claim', claimVolumes('c'), { claims: [claim('c')] }, immediate],
  [
    'an unbound claim and a matching volume',
    claimVolumes('c'),
    { claims: [claim('c')], volumes: [volume('v')] },
    immediate,
  ],
  [
    'an unbound claim of a class that binds immediately',
    claimVolumes('c'),
    { claims: [late('c')], classes: [{ ...delayedClass('late', 'x'), volumeBindingMode: 'Immediate' }] },
    immediate,
  ],
  ['an unbound claim of a missing class', claimVolumes('c'), { claims: [late('c')] }, immediate],
  [
    'an incomplete binding',
    claimVolumes('c'),
    { claims: [claim('c', { volumeName: 'v' })], volumes: [volume('v')] },
    immediate,
  ],
  [
    'an incomplete binding of a class that waits',
    claimVolumes('c'),
    { claims: [late('c', { volumeName: 'v' })], classes: [delayedClass('late', 'x')], volumes: [here('v')] },
    immediate,
  ],
  [
    'a claim that is being deleted',
    claimVolumes('c'),
    { claims: [claim('c', {}, { deletionTimestamp: '2022-05-03T00:00:00Z' })] },
    '!persistentvolumeclaim "c" is being deleted',
  ],
  [
    'a lost claim',
    claimVolumes('c'),
    { claims: [{ ...boundClaim('c', 'v'), status: { phase: 'Lost' } }] },
    '!persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
  ],
]);

const byHand = delayedClass('late', `${dialect.labelDomain}/no-provisioner`);
const waiting = (claims: PersistentVolumeClaim[], volumes: PersistentVolume[], storageClass: StorageClass = byHand) =>
  ask(claimVolumes(...claims.map(({ metadata }) => metadata.name ?? '')), { claims, volumes, classes: [storageClass] });
const pending = (name: string) => ({ ...here(name), status: { phase: 'Pending' } });
const reserved = (name: string, uid?: string): Partial<PersistentVolume['spec']> => ({
  claimRef: { namespace: 'default', name, ...(uid === undefined ? {} : { uid }) },
});
const chosen = (name: string) => ({ annotations: { [dialect.annotations.selectedNode]: name } });
table('waiting claims without a provisioner', waiting, [
  ['a matching volume', [late('c')], [here('v')], undefined, 'ok'],
  ['a volume without node affinity', [late('c')], [volume('v', { storageClassName: 'late' })], undefined, 'ok'],
  ['a volume of another node', [late('c')], [there('v')], undefined, none],
  ['a volume of this node and a volume of another node', [late('c')], [there('v'), here('w')], undefined, 'ok'],
  ['no volume', [late('c')], [], undefined, none],
  ['a larger volume', [late('c')], [here('v', { capacity: { storage: '5Gi' } })], undefined, 'ok'],
  ['a smaller volume', [late('c')], [here('v', { capacity: { storage: '1Mi' } })], undefined, none],
  ['a volume of another class', [late('c')], [here('v', { storageClassName: 'other' })], undefined, none],
  ['a volume with another access mode', [late('c', { accessModes: ['ReadWriteMany'] })], [here('v')], undefined, none],
  [
    'a volume with more access modes',
    [late('c')],
    [here('v', { accessModes: ['ReadWriteMany', 'ReadWriteOnce'] })],
    undefined,
    'ok',
  ],
  ['a block volume for a file system claim', [late('c')], [here('v', { volumeMode: 'Block' })], undefined, none],
  [
    'a block volume for a block claim',
    [late('c', { volumeMode: 'Block' })],
    [here('v', { volumeMode: 'Block' })],
    undefined,
    'ok',
  ],
  [
    'a volume that the selector of the claim does not match',
    [late('c', { selector: { matchLabels: { a: '1' } } })],
    [here('v')],
    undefined,
    none,
  ],
  ['a volume that is not available yet', [late('c')], [pending('v')], undefined, none],
  ['a volume that is reserved for another claim', [late('c')], [here('v', reserved('other'))], undefined, none],
  ['a volume that is reserved for the claim', [late('c')], [here('v', reserved('c'))], undefined, 'ok'],
  [
    'a volume that is reserved for an earlier claim with the same name',
    [late('c')],
    [here('v', reserved('c', 'old'))],
    undefined,
    none,
  ],
  [
    'a reserved volume of another node, and a matching volume',
    [late('c')],
    [there('v', reserved('c')), here('w')],
    undefined,
    none,
  ],
  ['two claims, two volumes', [late('c'), late('d')], [here('v'), here('w')], undefined, 'ok'],
  ['two claims, one volume', [late('c'), late('d')], [here('v')], undefined, none],
  [
    'the smaller claim leaves the larger volume to the larger claim',
    [late('large', { resources: { requests: { storage: '5Gi' } } }), late('small')],
    [here('v', { capacity: { storage: '5Gi' } }), here('w')],
    undefined,
    'ok',
  ],
  ['a volume is being provisioned for this node', [late('c', {}, chosen('n'))], [], delayedClass('late', 'x'), 'ok'],
  [
    'a volume is being provisioned for another node',
    [late('c', {}, chosen('m'))],
    [here('v')],
    delayedClass('late', 'x'),
    none,
  ],
]);

const only = (key: string, ...values: string[]): Partial<StorageClass> => ({
  allowedTopologies: [{ matchLabelExpressions: [{ key, values }] }],
});
const provisioned = (provisioner: string, more: Partial<StorageClass>) =>
  waiting([late('c')], [], delayedClass('late', provisioner, more));
table('waiting claims with dynamic provisioning', provisioned, [
  ['a provisioner', 'x', {}, 'ok'],
  ['no provisioner', '', {}, none],
  ['the class for manually created volumes', `${dialect.labelDomain}/no-provisioner`, {}, none],
  ['without allowed topologies', 'x', { allowedTopologies: [] }, 'ok'],
  ['this zone is allowed', 'x', only(zone, 'b', 'a'), 'ok'],
  ['only another zone is allowed', 'x', only(zone, 'b'), none],
  ['a label is required that the node lacks', 'x', only('rack', '1'), none],
  [
    'one of two allowed topologies matches',
    'x',
    {
      allowedTopologies: [...(only('rack', '1').allowedTopologies ?? []), ...(only(zone, 'a').allowedTopologies ?? [])],
    },
    'ok',
  ],
  [
    'an allowed topology with two labels, one of which the node lacks',
    'x',
    {
      allowedTopologies: [
        {
          matchLabelExpressions: [
            { key: zone, values: ['a'] },
            { key: 'rack', values: ['1'] },
          ],
        },
      ],
    },
    none,
  ],
]);

const room = (
  capacity: string | undefined,
  topology: Record<string, string> | undefined,
  maximumVolumeSize?: string,
): CSIStorageCapacity => ({
  metadata: { name: 'r' },
  storageClassName: 'late',
  ...(capacity === undefined ? {} : { capacity }),
  ...(topology === undefined ? {} : { nodeTopology: { matchLabels: topology } }),
  ...(maximumVolumeSize === undefined ? {} : { maximumVolumeSize }),
});
const space = (storage: string, ...capacities: CSIStorageCapacity[]) =>
  ask(claimVolumes('c'), {
    claims: [late('c', { resources: { requests: { storage } } })],
    classes: [delayedClass('late', 'x')],
    capacities,
  });
table('storage capacity', space, [
  ['no capacity is reported', '1Gi', noSpace],
  ['more than enough', '1Gi', room('2Gi', { [zone]: 'a' }), 'ok'],
  ['exactly enough', '2Gi', room('2Gi', { [zone]: 'a' }), 'ok'],
  ['too little', '3Gi', room('2Gi', { [zone]: 'a' }), noSpace],
  ['enough in another zone', '1Gi', room('2Gi', { [zone]: 'b' }), noSpace],
  ['enough for all nodes', '1Gi', room('2Gi', {}), 'ok'],
  ['enough for no node', '1Gi', room('2Gi', undefined), noSpace],
  ['a capacity without an amount', '1Gi', room(undefined, {}), noSpace],
  ['above the maximum volume size', '2Gi', room('9Gi', {}, '1Gi'), noSpace],
  ['up to the maximum volume size', '2Gi', room('9Gi', {}, '2Gi'), 'ok'],
  ['only the maximum volume size is reported', '2Gi', room(undefined, {}, '2Gi'), 'ok'],
  ['one of two zones has enough', '1Gi', room('2Gi', { [zone]: 'b' }), room('2Gi', { [zone]: 'a' }), 'ok'],
  [
    'the amounts of two zones do not add up',
    '3Gi',
    room('4Gi', { [zone]: 'b' }),
    room('2Gi', { [zone]: 'a' }),
    noSpace,
  ],
]);

const both = (bound: PersistentVolume[], free: PersistentVolume[], provisioner: string) =>
  ask(claimVolumes('b', 'c'), {
    claims: [boundClaim('b'), late('c')],
    volumes: [...bound, ...free],
    classes: [delayedClass('late', provisioner)],
    capacities: [],
  });
const mine = here('b', reserved('b'));
table('a bound claim and a waiting claim', both, [
  ['both fit', [mine], [here('v')], '', 'ok'],
  ['neither fits: both reasons are reported', [there('b')], [], '', `${none}, ${elsewhere.slice(1)}`],
  ['only the waiting claim fits', [there('b')], [here('v')], '', elsewhere],
  ['only the bound claim fits', [mine], [], '', none],
  ['a missing volume, and too little capacity', [], [], 'x', `${noSpace}, ${noVolume.slice(1)}`],
]);

const older = `failure-domain.beta.${dialect.labelDomain}`;
const elsewhereOf = (key: string, value: string) => local('v', key, [value], disk);
const disk = { awsElasticBlockStore: { volumeID: 'vol-1' } };
/** On a node in zone a, which the driver labels x. */
const ofDriver = (stored: PersistentVolume, migrated: string) =>
  answer(
    plugin,
    { spec: { volumes: claimVolumes('c') } },
    {
      nodes: [node('n', { [hostname]: 'n', [zone]: 'a', 'topology.ebs.csi.aws.com/zone': 'x' })],
      storage: storageOf({
        claims: [boundClaim('c', 'v')],
        volumes: [stored],
        csiNode: {
          metadata: { name: 'n', annotations: { [dialect.annotations.migratedPlugins]: migrated } },
          spec: { drivers: [] },
        },
      }),
    },
  );
const handedOver = `${dialect.labelDomain}/aws-ebs`;
const eitherOf = (key: string, values: string[]) => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key, operator: 'In', values }] },
        { matchExpressions: [{ key: hostname, operator: 'In', values: ['n'] }] },
      ],
    },
  },
});
table('zones of a disk that a CSI driver serves on the node', ofDriver, [
  ['node affinity with the zone label of the driver', elsewhereOf(zone, 'x'), handedOver, 'ok'],
  ['node affinity with the zone of the node labels', elsewhereOf(zone, 'a'), handedOver, elsewhere],
  ['node affinity with the older zone label', elsewhereOf(`${older}/zone`, 'x'), handedOver, 'ok'],
  ['a plugin that is not migrated', elsewhereOf(zone, 'a'), '', 'ok'],
  ['a disk of another plugin', local('v', zone, ['a'], { cinder: { volumeID: 'v' } }), handedOver, 'ok'],
  ['a zone in the labels of the volume', volume('v', disk, { [zone]: 'x' }), handedOver, 'ok'],
  ['another zone in the labels of the volume', volume('v', disk, { [zone]: 'a' }), handedOver, elsewhere],
  ['several zones in the labels of the volume', volume('v', disk, { [`${older}/zone`]: 'y__x' }), handedOver, 'ok'],
  [
    'a zone in the labels, and affinity for other labels',
    volume('v', { ...disk, ...here('v').spec }, { [zone]: 'y' }),
    handedOver,
    elsewhere,
  ],
  [
    'node affinity has priority over the labels of the volume',
    { ...elsewhereOf(zone, 'x'), metadata: { name: 'v', labels: { [zone]: 'y' } } },
    handedOver,
    'ok',
  ],
  ['one of two terms of the affinity', volume('v', { ...disk, ...eitherOf(zone, ['y']) }), handedOver, 'ok'],
  ['a disk without zones', volume('v', disk), handedOver, 'ok'],
  ['a region in the older label', elsewhereOf(`${older}/region`, 'r'), handedOver, elsewhere],
]);
