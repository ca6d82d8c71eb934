import { test } from 'tap';
import type { Volume } from '#api/core/v1/types.gen.js';
import { claimHolder, volumeRestrictions } from '#scheduler/plugins/volume-restrictions.js';
import { answer, clusterOf, node, pod, table } from '#scheduler/testing/plugin-table.js';
import { boundClaim, claimVolumes, storageOf } from '#scheduler/testing/storage.js';

type Source = Omit<Volume, 'name'>;
const plugin = volumeRestrictions({ singlePods: false });
const no = 'node(s) had no available disk';

const ask = (own: readonly Source[], ...there: (readonly Source[])[]) => {
  const spec = (sources: readonly Source[]) => ({
    volumes: sources.map((source, i) => ({ name: `v${i}`, ...source })),
  });
  return answer(plugin, { spec: spec(own) }, { pods: there.map((sources) => ({ spec: spec(sources) })) });
};
const one = (own: Source, there: Source) => ask([own], [there]);

const read = { readOnly: true };
const gce = (pdName: string, more = {}): Source => ({ gcePersistentDisk: { pdName, ...more } });
const aws = (volumeID: string, more = {}): Source => ({ awsElasticBlockStore: { volumeID, ...more } });
const iscsi = (iqn: string, more = {}): Source => ({ iscsi: { iqn, lun: 0, targetPortal: '10.0.0.1', ...more } });
/** `pool/image@monitor,monitor`. */
function rbd(text: string, more = {}): Source {
  const [, pool, image = '', monitors = ''] = /^(?:(.*)\/)?(.*)@(.*)$/.exec(text) ?? [];
  return { rbd: { image, monitors: monitors.split(','), ...(pool === undefined ? {} : { pool }), ...more } };
}

table('one disk and one that is there', one, [
  ['GCE, another', gce('a'), gce('b'), 'ok'],
  ['GCE, the same', gce('a'), gce('a'), no],
  ['GCE, the pod only reads', gce('a', read), gce('a'), no],
  ['GCE, the other only reads', gce('a'), gce('a', read), no],
  ['GCE, both only read', gce('a', read), gce('a', read), 'ok'],
  ['GCE, read-only is told to be false', gce('a', { readOnly: false }), gce('a', read), no],
  ['GCE, another partition of the same', gce('a', { partition: 1 }), gce('a', { partition: 2 }), no],
  ['GCE, names are told apart by case', gce('a'), gce('A'), 'ok'],
  ['AWS, another', aws('a'), aws('b'), 'ok'],
  ['AWS, the same', aws('a'), aws('a'), no],
  ['AWS, both only read', aws('a', read), aws('a', read), no],
  ['AWS, one only reads', aws('a', read), aws('a'), no],
  ['AWS, another partition of the same', aws('a', { partition: 1 }), aws('a', { partition: 2 }), no],
  ['iSCSI, another', iscsi('a'), iscsi('b'), 'ok'],
  ['iSCSI, the same', iscsi('a'), iscsi('a'), no],
  ['iSCSI, one only reads', iscsi('a', read), iscsi('a'), no],
  ['iSCSI, both only read', iscsi('a', read), iscsi('a', read), 'ok'],
  ['iSCSI, another unit of the same', iscsi('a', { lun: 0 }), iscsi('a', { lun: 1 }), no],
  ['iSCSI, by another way', iscsi('a', { targetPortal: '10.0.0.2' }), iscsi('a'), no],
  ['RBD, the same', rbd('p/i@x'), rbd('p/i@x'), no],
  ['RBD, another image', rbd('p/i@x'), rbd('p/j@x'), 'ok'],
  ['RBD, another pool', rbd('p/i@x'), rbd('q/i@x'), 'ok'],
  ['RBD, the usual pool and none told', rbd('rbd/i@x'), rbd('i@x'), no],
  ['RBD, another monitor', rbd('p/i@x'), rbd('p/i@y'), 'ok'],
  ['RBD, one monitor in common', rbd('p/i@x,y'), rbd('p/i@y,z'), no],
  ['RBD, no monitor in common', rbd('p/i@w,x'), rbd('p/i@y,z'), 'ok'],
  ['RBD, one only reads', rbd('p/i@x', read), rbd('p/i@x'), no],
  ['RBD, both only read', rbd('p/i@x', read), rbd('p/i@x', read), 'ok'],
  ['the same name of other kinds', gce('a'), aws('a'), 'ok'],
  ['the same name of other kinds, both only read', iscsi('a', read), gce('a', read), 'ok'],
  ['folders', { hostPath: { path: '/a' } }, { hostPath: { path: '/a' } }, 'ok'],
  ['NFS', { nfs: { server: 's', path: '/a' } }, { nfs: { server: 's', path: '/a' } }, 'ok'],
  ['secrets', { secret: { secretName: 'a' } }, { secret: { secretName: 'a' } }, 'ok'],
  ['empty folders', { emptyDir: {} }, { emptyDir: {} }, 'ok'],
  ['claims', { persistentVolumeClaim: { claimName: 'a' } }, { persistentVolumeClaim: { claimName: 'a' } }, 'ok'],
]);

table('several', ask, [
  ['no volumes', [], [gce('a')], 'ok'],
  ['no other pod', [gce('a')], 'ok'],
  ['no other pod has volumes', [gce('a')], [], 'ok'],
  ['the second of its own', [gce('a'), gce('b')], [gce('b')], no],
  ['the second of the other’s', [gce('b')], [gce('a'), gce('b')], no],
  ['of the second pod', [gce('b')], [gce('a')], [gce('b')], no],
  ['of neither', [gce('c')], [gce('a')], [gce('b')], 'ok'],
  ['one is read by both, another is written', [gce('a', read), gce('b')], [gce('a', read), gce('b')], no],
  ['all are read by all', [gce('a', read)], [gce('a', read)], [gce('a', read)], 'ok'],
  ['its own twice', [gce('a'), gce('a')], [], 'ok'],
]);

const modes = (name: string, ...accessModes: 'ReadWriteOncePod'[]) => boundClaim(name, name, { accessModes });
const [once, many] = ['ReadWriteOncePod', 'ReadWriteMany' as 'ReadWriteOncePod'] as const;
const storage = storageOf({
  claims: [modes('single', once), modes('other', once), modes('shared', many), modes('both', many, once)],
});
const inUse = '!node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';
const missing = '!persistentvolumeclaim "gone" not found';

/** Claim names separated by blanks; `there`: one pod per claim unless joined by `+`. */
function claims(own: string, there: string, { gate = true, inline = [] as Source[], ...other }: Other = {}) {
  const names = (text: string, separator: string) => text.split(separator).filter(Boolean);
  const volumes = [...claimVolumes(...names(own, ' ')), ...inline.map((source, i) => ({ name: `v${i}`, ...source }))];
  const pods = names(there, ' ').map((text) => ({ ...other, spec: { volumes: claimVolumes(...names(text, '+')) } }));
  const nodes = [node('n'), node('m')];
  return answer(volumeRestrictions({ singlePods: gate }), { spec: { volumes } }, { nodes, storage, pods });
}

interface Other {
  readonly gate?: boolean;
  readonly inline?: Source[];
  readonly on?: string;
  readonly namespace?: string;
  readonly terminating?: true;
}

table('claims for single pods', claims, [
  ['no pod uses it', 'single', 'shared', {}, 'ok'],
  ['no pod uses any', 'single', '', {}, 'ok'],
  ['a pod has it', 'single', 'single', {}, inUse],
  ['a pod of another node has it', 'single', 'single', { on: 'm' }, inUse],
  ['a pod of a node that is gone has it', 'single', 'single', { on: 'gone' }, inUse],
  ['a pod that ends has it', 'single', 'single', { terminating: true }, inUse],
  ['one of the same name of another namespace', 'single', 'single', { namespace: 'other' }, 'ok'],
  ['another one', 'single', 'other', {}, 'ok'],
  ['the second of its own', 'other single', 'single', {}, inUse],
  ['the second of the other’s', 'single', 'shared+single', {}, inUse],
  ['the second pod has it', 'single', 'shared single', {}, inUse],
  ['many may have it', 'shared', 'shared', {}, 'ok'],
  ['of several modes one is for single pods', 'both', 'both', {}, inUse],
  ['a claim that is not there', 'gone', '', {}, missing],
  ['a claim that is not there beside one in use', 'single gone', 'single', {}, missing],
  ['without the gate', 'single', 'single', { gate: false }, 'ok'],
  ['without the gate, a claim that is not there', 'gone', '', { gate: false }, 'ok'],
  ['beside an unused disk', 'single', 'single', { inline: [gce('a')] }, inUse],
  ['ephemeral ones are the pod’s own', '', 'single', { inline: [{ ephemeral: {} }] }, 'ok'],
]);

test('the user of a claim is found without scanning all pods', async (t) => {
  const holder = { spec: { volumes: claimVolumes('single') } };
  const cluster = clusterOf({ nodes: [node('n')], storage, pods: [holder] });
  cluster.placed = () => {
    throw new Error('all pods were scanned');
  };
  const wants = pod({ spec: { volumes: claimVolumes('other', 'single') } });
  t.match(claimHolder(wants, cluster), { node: 'n', claim: 'single' });
  const user = claimHolder(wants, cluster);
  cluster.removePod(user?.pod.uid ?? '');
  t.equal(claimHolder(wants, cluster), undefined, 'the pod is gone');
});
