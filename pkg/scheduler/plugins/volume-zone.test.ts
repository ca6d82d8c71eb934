import type { Volume } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { volumeZone } from '#scheduler/plugins/volume-zone.js';
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

const { region, zone } = dialect.labels;
const oldZone = `failure-domain.beta.${dialect.labelDomain}/zone`;
const oldRegion = `failure-domain.beta.${dialect.labelDomain}/region`;
const plugin = volumeZone(dialect);
const no = '!node(s) had no available volume zone';
type Labels = Record<string, string>;

const ask = (labels: Labels, volumes: Volume[], stored: StoredObjects) =>
  answer(plugin, { spec: { volumes } }, { nodes: [node('n', labels)], storage: storageOf(stored) });
const bound = (labels: Labels, ...volumes: Labels[]) =>
  ask(labels, claimVolumes(...volumes.map((_, i) => `v${i}`)), {
    claims: volumes.map((_, i) => boundClaim(`v${i}`)),
    volumes: volumes.map((of, i) => volume(`v${i}`, {}, of)),
  });

table('labels of the node and of volumes', bound, [
  ['neither has labels', {}, {}, 'ok'],
  ['only the node has a zone', { [zone]: 'a' }, {}, 'ok'],
  ['only the volume has a zone', {}, { [zone]: 'a' }, 'ok'],
  ['the node has other labels', { disk: 'ssd' }, { [zone]: 'a' }, 'ok'],
  ['the same zone', { [zone]: 'a' }, { [zone]: 'a' }, 'ok'],
  ['another zone', { [zone]: 'b' }, { [zone]: 'a' }, no],
  ['one of two zones', { [zone]: 'b' }, { [zone]: 'a__b' }, 'ok'],
  ['the first of two zones', { [zone]: 'a' }, { [zone]: 'a__b' }, 'ok'],
  ['neither of two zones', { [zone]: 'c' }, { [zone]: 'a__b' }, no],
  ['one underscore does not separate zones', { [zone]: 'a' }, { [zone]: 'a_b' }, no],
  ['one underscore in the name of the zone', { [zone]: 'a_b' }, { [zone]: 'a_b' }, 'ok'],
  ['spaces around a zone', { [zone]: 'a' }, { [zone]: 'b__ a' }, 'ok'],
  ['a list with an empty zone is ignored', { [zone]: 'c' }, { [zone]: 'a__' }, 'ok'],
  ['an empty zone is ignored', { [zone]: 'a' }, { [zone]: '' }, 'ok'],
  ['the same region', { [region]: 'r' }, { [region]: 'r' }, 'ok'],
  ['another region', { [region]: 's' }, { [region]: 'r' }, no],
  ['the same zone, another region', { [zone]: 'a', [region]: 's' }, { [zone]: 'a', [region]: 'r' }, no],
  ['the same region, another zone', { [zone]: 'b', [region]: 'r' }, { [zone]: 'a', [region]: 'r' }, no],
  ['the same zone and region', { [zone]: 'a', [region]: 'r' }, { [zone]: 'a', [region]: 'r' }, 'ok'],
  ['the volume has only a zone', { [zone]: 'a', [region]: 'r' }, { [zone]: 'a' }, 'ok'],
  ['the node has only a region', { [region]: 'r' }, { [zone]: 'a', [region]: 'r' }, no],
  ['older labels, the same zone', { [oldZone]: 'a' }, { [oldZone]: 'a' }, 'ok'],
  ['older labels, another zone', { [oldZone]: 'b' }, { [oldZone]: 'a' }, no],
  ['older labels, another region', { [oldRegion]: 's' }, { [oldRegion]: 'r' }, no],
  ['only the volume has the older label', { [zone]: 'a' }, { [oldZone]: 'a' }, no],
  ['the node has both labels', { [zone]: 'a', [oldZone]: 'a' }, { [oldZone]: 'a' }, 'ok'],
  ['other labels of the volume do not count', { [zone]: 'a', disk: 'ssd' }, { [zone]: 'a', disk: 'hdd' }, 'ok'],
  ['two volumes in the zone of the node', { [zone]: 'a' }, { [zone]: 'a' }, { [zone]: 'a__b' }, 'ok'],
  ['two volumes, the second in another zone', { [zone]: 'a' }, { [zone]: 'a' }, { [zone]: 'b' }, no],
  ['two volumes in different zones', { [zone]: 'a' }, { [zone]: 'b' }, { [zone]: 'c' }, no],
]);

const inZone = (volumes: Volume[], stored: StoredObjects) => ask({ [zone]: 'a' }, volumes, stored);
const late = delayedClass('late', 'x');
const soon = { ...delayedClass('soon', 'x'), volumeBindingMode: 'Immediate' };
table('claims of a pod on a node with a zone', inZone, [
  ['no volumes', [], {}, 'ok'],
  ['volumes without claims', [{ name: 'v', emptyDir: {} }], {}, 'ok'],
  ['a missing claim', claimVolumes('c'), {}, '!persistentvolumeclaim "c" not found'],
  ['a missing volume', claimVolumes('c'), { claims: [boundClaim('c', 'v')] }, '!persistentvolume "v" not found'],
  [
    'a claim without a volume and a class',
    claimVolumes('c'),
    { claims: [claim('c')] },
    '!PersistentVolumeClaim had no pv name and storageClass name',
  ],
  [
    'a class that waits for the first pod',
    claimVolumes('c'),
    { claims: [claim('c', { storageClassName: 'late' })], classes: [late] },
    'ok',
  ],
  [
    'a class that binds immediately',
    claimVolumes('c'),
    { claims: [claim('c', { storageClassName: 'soon' })], classes: [soon] },
    '!PersistentVolume had no name',
  ],
  [
    'a missing class',
    claimVolumes('c'),
    { claims: [claim('c', { storageClassName: 'gone' })] },
    `!storageclass.${dialect.groupName('storage')} "gone" not found`,
  ],
  [
    'the second claim is missing',
    claimVolumes('c', 'd'),
    { claims: [boundClaim('c', 'v')], volumes: [volume('v')] },
    '!persistentvolumeclaim "d" not found',
  ],
]);

const without = (volumes: Volume[], stored: StoredObjects) => ask({}, volumes, stored);
table('claims of a pod on a node without a zone', without, [
  ['a missing claim', claimVolumes('c'), {}, 'ok'],
  ['a missing volume', claimVolumes('c'), { claims: [boundClaim('c', 'v')] }, 'ok'],
  ['a claim without a volume and a class', claimVolumes('c'), { claims: [claim('c')] }, 'ok'],
]);
