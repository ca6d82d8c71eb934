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

table('volumes of a pod, and of those that are there', ask, [
  ['no volumes', { d: 0 }, '', '', 'ok'],
  ['room for one', { d: 1 }, 'a', '', 'ok'],
  ['room for none', { d: 0 }, 'a', '', no],
  ['as many as there may be', { d: 3 }, 'ab', 'c', 'ok'],
  ['one too many', { d: 2 }, 'ab', 'c', no],
  ['two pods are there', { d: 3 }, 'a', 'b cd', no],
  ['no limit reported', undefined, 'abcde', '', 'ok'],
  ['the driver says none', { d: undefined }, 'abcde', '', 'ok'],
  ['another driver says one', { e: 0 }, 'abcde', '', 'ok'],
  ['one that is there already', { d: 1 }, 'a', 'a', 'ok'],
  ['one that is there already, the node has more than it may', { d: 1 }, 'a', 'abc', 'ok'],
  ['one that is there already, and a new one', { d: 1 }, 'ab', 'a', no],
  ['one that is there already, and room for a new one', { d: 2 }, 'ab', 'a', 'ok'],
  ['one that two pods there share counts once', { d: 2 }, 'b', 'a a', 'ok'],
  ['its own twice counts once', { d: 1 }, 'aa', '', 'ok'],
  ['two drivers, each by itself', { d: 1, e: 1 }, 'ax', '', 'ok'],
  ['two drivers, one is full', { d: 1, e: 1 }, 'ax', 'y', no],
  ['the full driver is not asked for', { d: 1, e: 1 }, 'x', 'a', 'ok'],
  ['a driver that has too many is not asked for', { d: 1, e: 1 }, 'x', 'abc', 'ok'],
  ['no volume of a driver', { d: 0 }, 'z', '', 'ok'],
  ['those there are of no driver', { d: 1 }, 'a', 'z', 'ok'],
  ['many', { d: 5 }, 'abcde', '', 'ok'],
  ['many and one too many', { d: 4 }, 'abcde', '', no],
]);

const others = (limits: Limits, own: Volume[], there: Volume[]) => full(limits, own, [there]);
const inline: Volume = { name: 'i', csi: { driver: 'd' } };
table('other volumes', others, [
  ['one that will be made counts', { d: 0 }, claimVolumes('new-1'), [], no],
  ['one that will be made, room', { d: 1 }, claimVolumes('new-1'), [], 'ok'],
  ['two that will be made', { d: 1 }, claimVolumes('new-1', 'new-2'), [], no],
  ['one that will be made by another driver', { d: 0 }, claimVolumes('new-e'), [], 'ok'],
  ['one that will be made for a pod there', { d: 1 }, claimVolumes('a'), claimVolumes('new-1'), no],
  ['the same that will be made for both', { d: 1 }, claimVolumes('new-1'), claimVolumes('new-1'), 'ok'],
  ['a claim without a class', { d: 0 }, claimVolumes('classless'), [], 'ok'],
  ['a claim whose volume is gone counts by its class', { d: 0 }, claimVolumes('lost'), [], no],
  ['a claim that is not there', { d: 0 }, claimVolumes('no limit'), [], 'ok'],
  ['a claim of a pod there that is not there', { d: 1 }, claimVolumes('a'), claimVolumes('no limit'), 'ok'],
  ['two volumes that are the same disk', { d: 1 }, claimVolumes('a'), claimVolumes('alias'), 'ok'],
  ['one of the pod itself', { d: 0 }, [inline], [], 'ok'],
  ['one of the pod itself besides', { d: 1 }, [inline, ...claimVolumes('a')], [], 'ok'],
  ['one of a pod there itself', { d: 1 }, claimVolumes('a'), [inline], 'ok'],
]);

const key = 'attachable-volumes-csi-d';
const byNode = (allocatable: Record<string, string>, limits: Limits | undefined, own: string) =>
  full(limits, claimVolumes(...own), [], allocatable);
table('limits that the node itself says', byNode, [
  ['room', { [key]: '2' }, undefined, 'ab', 'ok'],
  ['no room', { [key]: '1' }, undefined, 'ab', no],
  ['none', { [key]: '0' }, undefined, 'a', no],
  ['of another driver', { 'attachable-volumes-csi-e': '0' }, undefined, 'a', 'ok'],
  ['the driver’s own comes first', { [key]: '1' }, { d: 2 }, 'ab', 'ok'],
  ['the driver’s own comes first, less', { [key]: '2' }, { d: 1 }, 'ab', no],
  ['the driver says nothing', { [key]: '1' }, { d: undefined }, 'ab', no],
]);
