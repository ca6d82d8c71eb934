import t from 'tap';
import type { AttachedVolume, PersistentVolume } from '#api/core/v1/types.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { forceDetachMs, multiAttachMessage, planNode } from '#controllers/attachdetach/plan.js';
import { type AttachableVolume, attachable, attachmentFor } from '#controllers/attachdetach/volumes.js';

const disk: AttachableVolume = { name: 'disk', driver: 'd', handle: 'h', uniqueName: 'x/csi/d^h', exclusive: true };
const attachment = (attached: boolean, metadata: VolumeAttachment['metadata'] = {}): VolumeAttachment => ({
  metadata: { name: 'a', ...metadata },
  spec: { attacher: 'd', nodeName: 'n1', source: { persistentVolumeName: 'disk' } },
  status: { attached },
});
const going = { deletionTimestamp: '2022-05-03T00:00:00Z' };
const reported: AttachedVolume[] = [{ name: disk.uniqueName, devicePath: '' }];

interface Row {
  readonly name: string;
  readonly desired?: boolean;
  readonly exclusive?: boolean;
  readonly there?: VolumeAttachment;
  readonly elsewhere?: string[];
  readonly used?: boolean;
  readonly outOfService?: boolean;
  readonly reported?: AttachedVolume[];
  readonly unneededForMs?: number;
  /** The planned actions, one word each. */
  readonly want: string[];
}

const rows: Row[] = [
  { name: 'nothing', want: [] },
  { name: 'desired', desired: true, want: ['attach'] },
  { name: 'needed, attached to another node', desired: true, elsewhere: ['n2'], want: ['blocked'] },
  {
    name: 'needed, attached to another node, not exclusive',
    desired: true,
    exclusive: false,
    elsewhere: ['n2'],
    want: ['attach'],
  },
  { name: 'being attached', desired: true, there: attachment(false), want: [] },
  { name: 'attached', desired: true, there: attachment(true), want: ['report 1'] },
  { name: 'attached and reported', desired: true, there: attachment(true), reported, want: [] },
  { name: 'reported and not attached', desired: true, there: attachment(false), reported, want: ['report 0'] },
  { name: 'no longer needed', there: attachment(true), reported, want: ['detach', 'report 0'] },
  { name: 'no longer needed, in use', there: attachment(true), reported, used: true, want: ['again 360000'] },
  {
    name: 'no longer needed, in use by a node out of service',
    there: attachment(true),
    reported,
    used: true,
    outOfService: true,
    want: ['detach', 'forced', 'report 0'],
  },
  {
    name: 'needed on a node out of service',
    desired: true,
    there: attachment(true),
    reported,
    used: true,
    outOfService: true,
    want: [],
  },
  {
    name: 'no longer needed, in use beyond the timeout',
    there: attachment(true),
    reported,
    used: true,
    unneededForMs: forceDetachMs,
    want: ['detach', 'forced', 'report 0'],
  },
  {
    name: 'needed again while it is being detached',
    desired: true,
    there: attachment(true, going),
    reported,
    want: ['report 0'],
  },
  { name: 'being detached', there: attachment(true, going), want: [] },
];

t.test('the plan follows the attachments and the needs of a node', (t) => {
  for (const row of rows) {
    const plan = planNode({
      desired: row.desired ? [{ ...disk, exclusive: row.exclusive ?? true }] : [],
      attachments: row.there === undefined ? [] : [row.there],
      uniqueNameOf: () => disk.uniqueName,
      elsewhere: () => row.elsewhere ?? [],
      inUse: new Set(row.used ? [disk.uniqueName] : []),
      outOfService: row.outOfService ?? false,
      reported: row.reported ?? [],
      unneededForMs: () => row.unneededForMs ?? 0,
    });
    const done = [
      ...plan.attach.map(() => 'attach'),
      ...plan.blocked.map(() => 'blocked'),
      ...plan.detach.map(() => 'detach'),
      ...plan.forced.map(() => 'forced'),
      ...(plan.report === undefined ? [] : [`report ${plan.report.length}`]),
      ...(plan.requeueAfterMs === undefined ? [] : [`again ${plan.requeueAfterMs}`]),
    ];
    t.same(done, row.want, row.name);
  }
  const foreign = planNode({
    desired: [],
    attachments: [attachment(true)],
    uniqueNameOf: () => undefined,
    elsewhere: () => [],
    inUse: new Set(),
    outOfService: false,
    reported: [],
    unneededForMs: () => 0,
  });
  t.same([foreign.detach, foreign.report], [[], undefined], 'an attachment of another client stays');
  t.end();
});

t.test('only CSI volumes can be attached, and their names are stable', (t) => {
  const volume = (spec: PersistentVolume['spec']): PersistentVolume => ({ metadata: { name: 'v' }, spec });
  const csi = { driver: 'disk.example.com', volumeHandle: 'vol-1' };
  const disk = attachable(volume({ csi, accessModes: ['ReadWriteOnce'] }), kubernetesDialect);
  t.same(disk, {
    name: 'v',
    driver: 'disk.example.com',
    handle: 'vol-1',
    uniqueName: 'kubernetes.io/csi/disk.example.com^vol-1',
    exclusive: true,
  });
  t.equal(attachable(volume({ hostPath: { path: '/' } }), kubernetesDialect), undefined);
  const modes: [string[], boolean][] = [
    [[], false],
    [['ReadWriteOncePod'], true],
    [['ReadWriteOnce', 'ReadOnlyMany'], false],
    [['ReadWriteMany'], false],
  ];
  for (const [accessModes, exclusive] of modes) {
    t.equal(attachable(volume({ csi, accessModes }), kubernetesDialect)?.exclusive, exclusive, accessModes.join());
  }
  if (disk === undefined) throw new TypeError('not attachable');
  // sha256 of vol-1disk.example.comn1
  t.match(attachmentFor(disk, 'n1').metadata.name, /^csi-[0-9a-f]{64}$/);
  t.not(attachmentFor(disk, 'n1').metadata.name, attachmentFor(disk, 'n2').metadata.name);
  t.end();
});

t.test('the event names pods of the same namespace only', (t) => {
  const start = 'Multi-Attach error for volume "v" Volume is already';
  const near = (name: string) => ({ namespace: 'a', name });
  const far = { namespace: 'b', name: 'z' };
  t.equal(
    multiAttachMessage('v', 'a', []),
    `${start} exclusively attached to one node and can't be attached to another`,
  );
  t.equal(multiAttachMessage('v', 'a', [near('p'), near('q')]), `${start} used by pod(s) p, q`);
  t.equal(multiAttachMessage('v', 'a', [far]), `${start} used by 1 pod(s) in different namespaces`);
  t.equal(
    multiAttachMessage('v', 'a', [near('p'), far]),
    `${start} used by pod(s) p and 1 pod(s) in different namespaces`,
  );
  t.end();
});
