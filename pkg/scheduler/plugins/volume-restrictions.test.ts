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

table('a disk of the pod, and a disk of a pod on the node', one, [
  ['GCE, another disk', gce('a'), gce('b'), 'ok'],
  ['GCE, the same disk', gce('a'), gce('a'), no],
  ['GCE, only the new pod mounts it read-only', gce('a', read), gce('a'), no],
  ['GCE, only the placed pod mounts it read-only', gce('a'), gce('a', read), no],
  ['GCE, both mount it read-only', gce('a', read), gce('a', read), 'ok'],
  ['GCE, readOnly is false', gce('a', { readOnly: false }), gce('a', read), no],
  ['GCE, another partition of the same disk', gce('a', { partition: 1 }), gce('a', { partition: 2 }), no],
  ['GCE, names are case-sensitive', gce('a'), gce('A'), 'ok'],
  ['AWS, another disk', aws('a'), aws('b'), 'ok'],
  ['AWS, the same disk', aws('a'), aws('a'), no],
  ['AWS, both mount it read-only', aws('a', read), aws('a', read), no],
  ['AWS, one mounts it read-only', aws('a', read), aws('a'), no],
  ['AWS, another partition of the same disk', aws('a', { partition: 1 }), aws('a', { partition: 2 }), no],
  ['iSCSI, another target', iscsi('a'), iscsi('b'), 'ok'],
  ['iSCSI, the same target', iscsi('a'), iscsi('a'), no],
  ['iSCSI, one mounts it read-only', iscsi('a', read), iscsi('a'), no],
  ['iSCSI, both mount it read-only', iscsi('a', read), iscsi('a', read), 'ok'],
  ['iSCSI, another unit of the same target', iscsi('a', { lun: 0 }), iscsi('a', { lun: 1 }), no],
  ['iSCSI, the same target through another portal', iscsi('a', { targetPortal: '10.0.0.2' }), iscsi('a'), no],
  ['RBD, the same image', rbd('p/i@x'), rbd('p/i@x'), no],
  ['RBD, another image', rbd('p/i@x'), rbd('p/j@x'), 'ok'],
  ['RBD, another pool', rbd('p/i@x'), rbd('q/i@x'), 'ok'],
  ['RBD, no pool means the default pool', rbd('rbd/i@x'), rbd('i@x'), no],
  ['RBD, another monitor', rbd('p/i@x'), rbd('p/i@y'), 'ok'],
  ['RBD, one common monitor', rbd('p/i@x,y'), rbd('p/i@y,z'), no],
  ['RBD, no common monitor', rbd('p/i@w,x'), rbd('p/i@y,z'), 'ok'],
  ['RBD, one mounts it read-only', rbd('p/i@x', read), rbd('p/i@x'), no],
  ['RBD, both mount it read-only', rbd('p/i@x', read), rbd('p/i@x', read), 'ok'],
  ['disks of different kinds with the same name', gce('a'), aws('a'), 'ok'],
  ['disks of different kinds with the same name, both read-only', iscsi('a', read), gce('a', read), 'ok'],
  ['host paths', { hostPath: { path: '/a' } }, { hostPath: { path: '/a' } }, 'ok'],
  ['NFS', { nfs: { server: 's', path: '/a' } }, { nfs: { server: 's', path: '/a' } }, 'ok'],
  ['secrets', { secret: { secretName: 'a' } }, { secret: { secretName: 'a' } }, 'ok'],
  ['empty directories', { emptyDir: {} }, { emptyDir: {} }, 'ok'],
  ['claims', { persistentVolumeClaim: { claimName: 'a' } }, { persistentVolumeClaim: { claimName: 'a' } }, 'ok'],
]);

table('several disks or pods', ask, [
  ['the new pod has no volumes', [], [gce('a')], 'ok'],
  ['no other pod on the node', [gce('a')], 'ok'],
  ['the pod on the node has no volumes', [gce('a')], [], 'ok'],
  ['the second disk of the new pod is in use', [gce('a'), gce('b')], [gce('b')], no],
  ['the second disk of the placed pod', [gce('b')], [gce('a'), gce('b')], no],
  ['a disk of the second placed pod', [gce('b')], [gce('a')], [gce('b')], no],
  ['a disk of no placed pod', [gce('c')], [gce('a')], [gce('b')], 'ok'],
  ['both disks are shared, one without read-only', [gce('a', read), gce('b')], [gce('a', read), gce('b')], no],
  ['all pods mount the disk read-only', [gce('a', read)], [gce('a', read)], [gce('a', read)], 'ok'],
  ['the pod mounts a disk twice', [gce('a'), gce('a')], [], 'ok'],
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

table('claims with access mode ReadWriteOncePod', claims, [
  ['other pods use other claims', 'single', 'shared', {}, 'ok'],
  ['no other pod has claims', 'single', '', {}, 'ok'],
  ['another pod uses the claim', 'single', 'single', {}, inUse],
  ['a pod on another node uses the claim', 'single', 'single', { on: 'm' }, inUse],
  ['a pod on a deleted node uses the claim', 'single', 'single', { on: 'gone' }, inUse],
  ['a pod that is being deleted uses the claim', 'single', 'single', { terminating: true }, inUse],
  ['a claim with the same name in another namespace', 'single', 'single', { namespace: 'other' }, 'ok'],
  ['another pod uses another such claim', 'single', 'other', {}, 'ok'],
  ['the second claim of the new pod', 'other single', 'single', {}, inUse],
  ['the second claim of the placed pod', 'single', 'shared+single', {}, inUse],
  ['the claim of the second placed pod', 'single', 'shared single', {}, inUse],
  ['a claim that several pods can use', 'shared', 'shared', {}, 'ok'],
  ['a claim with several access modes', 'both', 'both', {}, inUse],
  ['a missing claim', 'gone', '', {}, missing],
  ['a missing claim, and a claim in use', 'single gone', 'single', {}, missing],
  ['the feature gate is off', 'single', 'single', { gate: false }, 'ok'],
  ['the feature gate is off, and the claim is missing', 'gone', '', { gate: false }, 'ok'],
  ['a claim in use, and an unused disk', 'single', 'single', { inline: [gce('a')] }, inUse],
  ['claims of ephemeral volumes are not shared', '', 'single', { inline: [{ ephemeral: {} }] }, 'ok'],
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
