import type { PersistentVolume, Volume } from '#api/core/v1/types.gen.js';
import type { CSINode } from '#api/storage/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { nodeVolumeLimits } from '#scheduler/plugins/node-volume-limits.js';
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

const plugin = nodeVolumeLimits(dialect);
const no = 'node(s) exceed max volume count';
type Limits = Readonly<Record<string, number | undefined>>;

/** Limits of the node's drivers; undefined: the driver reports no limit. */
const csiNode = (limits: Limits): CSINode => ({
  metadata: { name: 'n' },
  spec: {
    drivers: Object.entries(limits).map(([name, count]) => ({
      name,
      nodeID: 'n',
      ...(count === undefined ? {} : { allocatable: { count } }),
    })),
  },
});
const csi = (name: string, driver: string, volumeHandle = name): PersistentVolume =>
  volume(name, { csi: { driver, volumeHandle } });

/** Claims a to e have volumes of driver d, x and y of driver e; z has a host path; new ones are unbound. */
const stored: StoredObjects = {
  claims: [
    ...[...'abcdexyz'].map((name) => boundClaim(name)),
    boundClaim('alias'),
    claim('new-1', { storageClassName: 'late' }),
    claim('new-2', { storageClassName: 'late' }),
    claim('new-e', { storageClassName: 'late-e' }),
    claim('classless'),
    claim('lost', { storageClassName: 'late', volumeName: 'gone' }),
  ],
  volumes: [
    ...[...'abcde'].map((name) => csi(name, 'd')),
    ...[...'xy'].map((name) => csi(name, 'e')),
    volume('z', { hostPath: { path: '/z' } }),
    csi('alias', 'd', 'a'),
  ],
  classes: [delayedClass('late', 'd'), delayedClass('late-e', 'e')],
};

const full = (limits: Limits | undefined, own: Volume[], there: Volume[][], allocatable: Record<string, string> = {}) =>
  answer(
    plugin,
    { spec: { volumes: own } },
    {
      nodes: [node('n', {}, { allocatable })],
      pods: there.map((volumes) => ({ spec: { volumes } })),
      storage: storageOf({ ...stored, ...(limits === undefined ? {} : { csiNode: csiNode(limits) }) }),
    },
  );
/** Letters are claims; pods on the node are separated by blanks. */
const ask = (limits: Limits | undefined, own: string, there: string) =>
  full(
    limits,
    claimVolumes(...own),
    there
      .split(' ')
      .filter(Boolean)
      .map((names) => claimVolumes(...names)),
  );

table('volumes of a pod and of the pods on the node', ask, [
  ['no volumes', { d: 0 }, '', '', 'ok'],
  ['one volume below the limit', { d: 1 }, 'a', '', 'ok'],
  ['a limit of zero', { d: 0 }, 'a', '', no],
  ['volumes up to the limit', { d: 3 }, 'ab', 'c', 'ok'],
  ['one volume above the limit', { d: 2 }, 'ab', 'c', no],
  ['two pods on the node', { d: 3 }, 'a', 'b cd', no],
  ['the node has no CSINode object', undefined, 'abcde', '', 'ok'],
  ['the driver reports no limit', { d: undefined }, 'abcde', '', 'ok'],
  ['only another driver reports a limit', { e: 0 }, 'abcde', '', 'ok'],
  ['the volume is already on the node', { d: 1 }, 'a', 'a', 'ok'],
  ['the volume is already on a node above its limit', { d: 1 }, 'a', 'abc', 'ok'],
  ['a volume on the node, and a new volume above the limit', { d: 1 }, 'ab', 'a', no],
  ['a volume on the node, and a new volume below the limit', { d: 2 }, 'ab', 'a', 'ok'],
  ['a volume that two pods on the node share counts once', { d: 2 }, 'b', 'a a', 'ok'],
  ['a volume that the pod mounts twice counts once', { d: 1 }, 'aa', '', 'ok'],
  ['two drivers with separate limits', { d: 1, e: 1 }, 'ax', '', 'ok'],
  ['two drivers, one at its limit', { d: 1, e: 1 }, 'ax', 'y', no],
  ['the pod does not use the driver at its limit', { d: 1, e: 1 }, 'x', 'a', 'ok'],
  ['the pod does not use the driver above its limit', { d: 1, e: 1 }, 'x', 'abc', 'ok'],
  ['a volume without a driver', { d: 0 }, 'z', '', 'ok'],
  ['volumes on the node without a driver', { d: 1 }, 'a', 'z', 'ok'],
  ['many volumes up to the limit', { d: 5 }, 'abcde', '', 'ok'],
  ['many volumes, one above the limit', { d: 4 }, 'abcde', '', no],
]);

const others = (limits: Limits, own: Volume[], there: Volume[]) => full(limits, own, [there]);
const inline: Volume = { name: 'i', csi: { driver: 'd' } };
table('volumes that are not provisioned yet, and volumes without claims', others, [
  ['a volume that is not provisioned yet counts', { d: 0 }, claimVolumes('new-1'), [], no],
  ['a volume that is not provisioned yet, below the limit', { d: 1 }, claimVolumes('new-1'), [], 'ok'],
  ['two volumes that are not provisioned yet', { d: 1 }, claimVolumes('new-1', 'new-2'), [], no],
  ['a volume of another driver that is not provisioned yet', { d: 0 }, claimVolumes('new-e'), [], 'ok'],
  ['a volume of a pod on the node that is not provisioned yet', { d: 1 }, claimVolumes('a'), claimVolumes('new-1'), no],
  ['the same volume, not provisioned yet, of both pods', { d: 1 }, claimVolumes('new-1'), claimVolumes('new-1'), 'ok'],
  ['a claim without a class', { d: 0 }, claimVolumes('classless'), [], 'ok'],
  ['a claim whose volume is deleted counts for its class', { d: 0 }, claimVolumes('lost'), [], no],
  ['a missing claim', { d: 0 }, claimVolumes('no limit'), [], 'ok'],
  ['a missing claim of a pod on the node', { d: 1 }, claimVolumes('a'), claimVolumes('no limit'), 'ok'],
  ['two volumes with the same handle', { d: 1 }, claimVolumes('a'), claimVolumes('alias'), 'ok'],
  ['an inline volume', { d: 0 }, [inline], [], 'ok'],
  ['an inline volume and a claim', { d: 1 }, [inline, ...claimVolumes('a')], [], 'ok'],
  ['an inline volume of a pod on the node', { d: 1 }, claimVolumes('a'), [inline], 'ok'],
]);

const key = 'attachable-volumes-csi-d';
const byNode = (allocatable: Record<string, string>, limits: Limits | undefined, own: string) =>
  full(limits, claimVolumes(...own), [], allocatable);
table('limits in the allocatable resources of the node', byNode, [
  ['below the limit', { [key]: '2' }, undefined, 'ab', 'ok'],
  ['above the limit', { [key]: '1' }, undefined, 'ab', no],
  ['a limit of zero', { [key]: '0' }, undefined, 'a', no],
  ['a limit of another driver', { 'attachable-volumes-csi-e': '0' }, undefined, 'a', 'ok'],
  ['the limit of the CSINode has priority, when higher', { [key]: '1' }, { d: 2 }, 'ab', 'ok'],
  ['the limit of the CSINode has priority, when lower', { [key]: '2' }, { d: 1 }, 'ab', no],
  ['the CSINode has no limit', { [key]: '1' }, { d: undefined }, 'ab', no],
]);
