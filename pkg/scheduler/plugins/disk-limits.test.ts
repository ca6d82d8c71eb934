import t from 'tap';
import type { Volume } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { diskKinds, diskLimits, maxDisksOf, maxDisksWarning } from '#scheduler/plugins/disk-limits.js';
import { answer, node, table } from '#scheduler/testing/plugin-table.js';
import { boundClaim, claim, claimVolumes, delayedClass, storageOf, volume } from '#scheduler/testing/storage.js';

const no = 'node(s) exceed max volume count';
type Kind = keyof typeof diskKinds;

const sources: Readonly<Record<Kind, (id: string) => Omit<Volume, 'name'>>> = {
  ebs: (volumeID) => ({ awsElasticBlockStore: { volumeID } }),
  gce: (pdName) => ({ gcePersistentDisk: { pdName } }),
  azure: (diskName) => ({ azureDisk: { diskName, diskURI: diskName } }),
  cinder: (volumeID) => ({ cinder: { volumeID } }),
};
/** This many different disks. */
const disks = (kind: Kind, count: number): Volume[] =>
  Array.from({ length: count }, (_, i) => ({ name: `v${i}`, ...sources[kind](`disk-${i}`) }));

interface Where {
  /** The node's reported limit. */
  readonly own?: number;
  /** The limit from the environment. */
  readonly max?: number;
  readonly type?: string;
}

const names = { ebs: 'aws-ebs', gce: 'gce-pd', azure: 'azure-disk', cinder: 'cinder' };
const storage = storageOf({
  claims: [boundClaim('disk'), boundClaim('folder'), claim('new', { storageClassName: 'late' }), claim('other')],
  volumes: [
    volume('disk', { awsElasticBlockStore: { volumeID: 'disk-0' } }),
    volume('folder', { hostPath: { path: '/x' } }),
  ],
  classes: [delayedClass('late', `${dialect.labelDomain}/aws-ebs`)],
});

/** `own`: the pod's volumes; `there`: the volumes of the node's only pod. */
function ask(kind: Kind, own: Volume[], there: Volume[], { max, own: said, type }: Where = {}): string {
  const labels = type === undefined ? {} : { [dialect.labels.instanceType]: type };
  const allocatable = said === undefined ? {} : { [`attachable-volumes-${names[kind]}`]: String(said) };
  return answer(
    diskLimits(diskKinds[kind], dialect, max),
    { spec: { volumes: own } },
    { nodes: [node('n', labels, { allocatable })], pods: [{ spec: { volumes: there } }], storage },
  );
}

const another = (kind: Kind): Volume[] => [{ name: 'another', ...sources[kind]('another') }];

table(
  'default limits per node',
  (kind: Kind, there: number, where: Where) => ask(kind, another(kind), disks(kind, there), where),
  [
    ['EBS, up to the limit', 'ebs', 38, {}, 'ok'],
    ['EBS, one above the limit', 'ebs', 39, {}, no],
    ['EBS, up to the limit of a newer instance type', 'ebs', 24, { type: 'm5.large' }, 'ok'],
    ['EBS, one above the limit of a newer instance type', 'ebs', 25, { type: 't3.small' }, no],
    ['EBS, an older instance type', 'ebs', 30, { type: 'm4.large' }, 'ok'],
    ['GCE, up to the limit', 'gce', 15, {}, 'ok'],
    ['GCE, one above the limit', 'gce', 16, {}, no],
    ['Azure, one above the limit', 'azure', 16, {}, no],
    ['Cinder, up to the limit', 'cinder', 255, {}, 'ok'],
    ['Cinder, one above the limit', 'cinder', 256, {}, no],
    ['the environment overrides the limit of the instance type', 'ebs', 2, { max: 2, type: 'm5.large' }, no],
    ['the limit that the node reports overrides the environment', 'ebs', 2, { max: 2, own: 3 }, 'ok'],
    ['the node reports a limit of zero', 'gce', 0, { own: 0 }, no],
  ],
);

table('which volumes count', (own: Volume[], there: Volume[], most: number) => ask('ebs', own, there, { own: most }), [
  ['a disk that is already on the node', disks('ebs', 1), disks('ebs', 1), 1, 'ok'],
  ['a disk of another kind', another('gce'), disks('ebs', 1), 1, 'ok'],
  ['a claim with a disk', claimVolumes('disk'), another('ebs'), 1, no],
  ['a claim whose disk is already on the node', claimVolumes('disk'), disks('ebs', 1), 1, 'ok'],
  ['a claim with a volume of another kind', claimVolumes('folder'), disks('ebs', 1), 1, 'ok'],
  ['a claim whose provisioner creates disks of this kind', claimVolumes('new'), disks('ebs', 1), 1, no],
  ['a claim whose provisioner creates other volumes', claimVolumes('other'), disks('ebs', 1), 1, 'ok'],
  ['a missing claim', claimVolumes('missing'), disks('ebs', 1), 1, 'ok'],
  ['no volumes', [], disks('ebs', 2), 1, 'ok'],
  ['a claim without a volume on the node', another('ebs'), claimVolumes('new'), 1, no],
]);

t.test('reads the limit from the environment', (t) => {
  t.equal(maxDisksOf({}, dialect), undefined);
  t.equal(maxDisksOf({ KUBE_MAX_PD_VOLS: '7' }, kubernetesDialect), 7);
  t.equal(maxDisksOf({ ORCH_MAX_PD_VOLS: '7' }, dialect), 7);
  for (const wrong of ['0', '-1', 'many', '1.5']) {
    t.equal(maxDisksOf({ ORCH_MAX_PD_VOLS: wrong }, dialect), undefined);
    t.match(
      maxDisksWarning({ ORCH_MAX_PD_VOLS: wrong }, dialect),
      /ORCH_MAX_PD_VOLS has no effect: .* is not a positive number/,
    );
  }
  for (const env of [{}, { ORCH_MAX_PD_VOLS: '7' }]) t.equal(maxDisksWarning(env, dialect), undefined);
  t.end();
});
