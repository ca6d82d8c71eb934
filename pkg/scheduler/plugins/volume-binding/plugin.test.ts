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
table('claims that come with the pod', own, [
  ['not there yet', [], '!waiting for ephemeral volume controller to create the persistentvolumeclaim "p-c"'],
  ['there', [owned(owner)], 'ok'],
  ['of another pod of that name', [owned({ ...owner, uid: 'q' })], notOwner],
  ['without an owner', [boundClaim('p-c', 'v')], notOwner],
  ['of the pod, which does not control it', [owned({ ...owner, controller: false })], notOwner],
]);

table('claims that are bound, or should be', ask, [
  ['none', [], {}, 'ok'],
  ['volumes without claims', [{ name: 'v', emptyDir: {} }], {}, 'ok'],
  ['not there', claimVolumes('c'), {}, '!persistentvolumeclaim "c" not found'],
  ['bound', claimVolumes('c'), { claims: [boundClaim('c', 'v')], volumes: [volume('v')] }, 'ok'],
  ['bound to a volume of the node', claimVolumes('c'), { claims: [boundClaim('c', 'v')], volumes: [here('v')] }, 'ok'],
  [
    'bound to a volume of the zone',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [local('v', zone, ['b', 'a'])] },
    'ok',
  ],
  [
    'bound to a volume of another node',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [there('v')] },
    elsewhere,
  ],
  [
    'bound to a volume of another zone',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [local('v', zone, ['b'])] },
    elsewhere,
  ],
  [
    'bound to a volume that asks for a label',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [local('v', 'rack', ['1'])] },
    elsewhere,
  ],
  [
    'bound to a volume without terms, which nothing meets',
    claimVolumes('c'),
    {
      claims: [boundClaim('c', 'v')],
      volumes: [volume('v', { nodeAffinity: { required: { nodeSelectorTerms: [] } } })],
    },
    elsewhere,
  ],
  [
    'bound to a volume of any node',
    claimVolumes('c'),
    { claims: [boundClaim('c', 'v')], volumes: [volume('v', { nodeAffinity: {} })] },
    'ok',
  ],
  ['bound to nothing', claimVolumes('c'), { claims: [boundClaim('c', 'v')] }, noVolume],
  [
    'two, the second elsewhere',
    claimVolumes('c', 'd'),
    { claims: [boundClaim('c'), boundClaim('d')], volumes: [here('c'), there('d')] },
    elsewhere,
  ],
  [
    'two, the first elsewhere and the second gone',
    claimVolumes('c', 'd'),
    { claims: [boundClaim('c'), boundClaim('d')], volumes: [there('c')] },
    elsewhere,
  ],
  ['not bound', claimVolumes('c'), { claims: [claim('c')] }, immediate],
  [
    'not bound, though there is a volume',
    claimVolumes('c'),
    { claims: [claim('c')], volumes: [volume('v')] },
    immediate,
  ],
  [
    'not bound, of a class that does not wait',
    claimVolumes('c'),
    { claims: [late('c')], classes: [{ ...delayedClass('late', 'x'), volumeBindingMode: 'Immediate' }] },
    immediate,
  ],
  ['not bound, of a class that is not there', claimVolumes('c'), { claims: [late('c')] }, immediate],
  [
    'binding has begun and is not over',
    claimVolumes('c'),
    { claims: [claim('c', { volumeName: 'v' })], volumes: [volume('v')] },
    immediate,
  ],
  [
    'binding has begun, of a class that waits',
    claimVolumes('c'),
    { claims: [late('c', { volumeName: 'v' })], classes: [delayedClass('late', 'x')], volumes: [here('v')] },
    immediate,
  ],
  [
    'being deleted',
    claimVolumes('c'),
    { claims: [claim('c', {}, { deletionTimestamp: '2022-05-03T00:00:00Z' })] },
    '!persistentvolumeclaim "c" is being deleted',
  ],
  [
    'lost',
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
table('claims that wait for the pod, volumes are made by hand', waiting, [
  ['one for it', [late('c')], [here('v')], undefined, 'ok'],
  ['one for it, of any node', [late('c')], [volume('v', { storageClassName: 'late' })], undefined, 'ok'],
  ['one for it, of another node', [late('c')], [there('v')], undefined, none],
  ['one of either', [late('c')], [there('v'), here('w')], undefined, 'ok'],
  ['none at all', [late('c')], [], undefined, none],
  ['a larger one', [late('c')], [here('v', { capacity: { storage: '5Gi' } })], undefined, 'ok'],
  ['a smaller one', [late('c')], [here('v', { capacity: { storage: '1Mi' } })], undefined, none],
  ['one of another class', [late('c')], [here('v', { storageClassName: 'other' })], undefined, none],
  ['one of other access', [late('c', { accessModes: ['ReadWriteMany'] })], [here('v')], undefined, none],
  [
    'one with more access modes',
    [late('c')],
    [here('v', { accessModes: ['ReadWriteMany', 'ReadWriteOnce'] })],
    undefined,
    'ok',
  ],
  ['a block device for a file system', [late('c')], [here('v', { volumeMode: 'Block' })], undefined, none],
  [
    'a block device for a block device',
    [late('c', { volumeMode: 'Block' })],
    [here('v', { volumeMode: 'Block' })],
    undefined,
    'ok',
  ],
  [
    'one that its selector does not match',
    [late('c', { selector: { matchLabels: { a: '1' } } })],
    [here('v')],
    undefined,
    none,
  ],
  ['one that is not ready', [late('c')], [pending('v')], undefined, none],
  ['one that is reserved for another', [late('c')], [here('v', reserved('other'))], undefined, none],
  ['one that is reserved for it', [late('c')], [here('v', reserved('c'))], undefined, 'ok'],
  [
    'one that is reserved for an earlier claim of its name',
    [late('c')],
    [here('v', reserved('c', 'old'))],
    undefined,
    none,
  ],
  [
    'one that is reserved for it elsewhere, and another',
    [late('c')],
    [there('v', reserved('c')), here('w')],
    undefined,
    none,
  ],
  ['two claims, two volumes', [late('c'), late('d')], [here('v'), here('w')], undefined, 'ok'],
  ['two claims, one volume', [late('c'), late('d')], [here('v')], undefined, none],
  [
    'the small claim leaves the large volume to the large one',
    [late('large', { resources: { requests: { storage: '5Gi' } } }), late('small')],
    [here('v', { capacity: { storage: '5Gi' } }), here('w')],
    undefined,
    'ok',
  ],
  ['one that is to be made for this node', [late('c', {}, chosen('n'))], [], delayedClass('late', 'x'), 'ok'],
  [
    'one that is to be made for another node',
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
  ['by a provisioner', 'x', {}, 'ok'],
  ['without a provisioner', '', {}, none],
  ['by hand', `${dialect.labelDomain}/no-provisioner`, {}, none],
  ['anywhere', 'x', { allowedTopologies: [] }, 'ok'],
  ['in this zone', 'x', only(zone, 'b', 'a'), 'ok'],
  ['in another zone', 'x', only(zone, 'b'), none],
  ['where a label is that the node has not', 'x', only('rack', '1'), none],
  [
    'in either place',
    'x',
    {
      allowedTopologies: [...(only('rack', '1').allowedTopologies ?? []), ...(only(zone, 'a').allowedTopologies ?? [])],
    },
    'ok',
  ],
  [
    'in a place of two labels, one of which the node has',
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
table('what is left where', space, [
  ['nothing is known', '1Gi', noSpace],
  ['enough', '1Gi', room('2Gi', { [zone]: 'a' }), 'ok'],
  ['just enough', '2Gi', room('2Gi', { [zone]: 'a' }), 'ok'],
  ['not enough', '3Gi', room('2Gi', { [zone]: 'a' }), noSpace],
  ['enough elsewhere', '1Gi', room('2Gi', { [zone]: 'b' }), noSpace],
  ['enough for every node', '1Gi', room('2Gi', {}), 'ok'],
  ['enough nowhere', '1Gi', room('2Gi', undefined), noSpace],
  ['nothing said of how much', '1Gi', room(undefined, {}), noSpace],
  ['a single volume may be smaller only', '2Gi', room('9Gi', {}, '1Gi'), noSpace],
  ['a single volume may be as large', '2Gi', room('9Gi', {}, '2Gi'), 'ok'],
  ['only the size of a single volume is known', '2Gi', room(undefined, {}, '2Gi'), 'ok'],
  ['one of two places', '1Gi', room('2Gi', { [zone]: 'b' }), room('2Gi', { [zone]: 'a' }), 'ok'],
  [
    'room in this place, and more in another',
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
table('one claim that is bound and one that waits', both, [
  ['both do', [mine], [here('v')], '', 'ok'],
  ['neither: both are told', [there('b')], [], '', `${none}, ${elsewhere.slice(1)}`],
  ['the bound one does not', [there('b')], [here('v')], '', elsewhere],
  ['the other does not', [mine], [], '', none],
  ['gone, and no space', [], [], 'x', `${noSpace}, ${noVolume.slice(1)}`],
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
  ['as the driver calls it', elsewhereOf(zone, 'x'), handedOver, 'ok'],
  ['not as the node does', elsewhereOf(zone, 'a'), handedOver, elsewhere],
  ['by its older name', elsewhereOf(`${older}/zone`, 'x'), handedOver, 'ok'],
  ['not handed over', elsewhereOf(zone, 'a'), '', 'ok'],
  ['of another plugin', local('v', zone, ['a'], { cinder: { volumeID: 'v' } }), handedOver, 'ok'],
  ['of its labels alone', volume('v', disk, { [zone]: 'x' }), handedOver, 'ok'],
  ['of its labels, another', volume('v', disk, { [zone]: 'a' }), handedOver, elsewhere],
  ['of its labels, several', volume('v', disk, { [`${older}/zone`]: 'y__x' }), handedOver, 'ok'],
  [
    'of its labels, with what else is asked',
    volume('v', { ...disk, ...here('v').spec }, { [zone]: 'y' }),
    handedOver,
    elsewhere,
  ],
  [
    'what is asked before its labels',
    { ...elsewhereOf(zone, 'x'), metadata: { name: 'v', labels: { [zone]: 'y' } } },
    handedOver,
    'ok',
  ],
  ['one of two ways', volume('v', { ...disk, ...eitherOf(zone, ['y']) }), handedOver, 'ok'],
  ['nowhere in particular', volume('v', disk), handedOver, 'ok'],
  ['a region by its older name', elsewhereOf(`${older}/region`, 'r'), handedOver, elsewhere],
]);
