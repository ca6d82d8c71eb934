import t from 'tap';
import { boundVolume } from '#api/core/v1/persistentvolume/binding.js';
import type { PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { boundClaim, claimBoundTo, unboundVolume } from '#controllers/persistentvolumebinder/binding.js';
import { type ClaimObservation, type ClaimPlan, planClaim } from '#controllers/persistentvolumebinder/plan-claim.js';
import { planVolume, reclaimFailure, type VolumePlan } from '#controllers/persistentvolumebinder/volumes.js';

type Annotations = Readonly<Record<string, string>>;

const completed = { 'pv.kubernetes.io/bind-completed': 'yes' };
const chosen = { 'pv.kubernetes.io/bound-by-controller': 'yes' };
const claimRef = { namespace: 'default', name: 'data', uid: 'u' };
const capacity = { storage: '2Gi' };

function volume(spec: Partial<PersistentVolumeSpec> = {}, annotations: Annotations = {}): PersistentVolume {
  return { metadata: { name: 'v', annotations }, spec: { capacity, ...spec }, status: { phase: 'Available' } };
}

function claim(spec: PersistentVolumeClaim['spec'] = {}, annotations: Annotations = {}): PersistentVolumeClaim {
  const metadata = { name: 'data', namespace: 'default', uid: 'u', resourceVersion: '7', annotations };
  return { metadata, spec };
}

const storageClass = (provisioner: string, volumeBindingMode = 'Immediate'): StorageClass => ({
  metadata: { name: 'gold' },
  provisioner,
  volumeBindingMode,
});
const gold = { storageClassName: 'gold' };
const late = storageClass('disk.example.com', 'WaitForFirstConsumer');
const selected = { 'volume.kubernetes.io/selected-node': 'n1' };

interface ClaimRow extends Partial<ClaimObservation> {
  readonly name: string;
  readonly want: { step: ClaimPlan['step']; notice?: unknown };
}

const notice = (reason: string, message: string, type = 'Normal') => ({ type, reason, message });
const external =
  'waiting for a volume to be created, either by external provisioner "disk.example.com" or manually created by system administrator';

const claimRows: ClaimRow[] = [
  {
    name: 'no volume and no class',
    want: {
      step: 'pending',
      notice: notice('FailedBinding', 'no persistent volumes available for this claim and no storage class is set'),
    },
  },
  { name: 'a volume', candidates: [volume()], want: { step: 'bind' } },
  {
    name: 'a class with an external provisioner',
    claim: claim(gold),
    storageClass: storageClass('disk.example.com'),
    want: { step: 'provision', notice: notice('ExternalProvisioning', external) },
  },
  {
    name: 'a class, but provisioning is disabled',
    claim: claim(gold),
    storageClass: storageClass('disk.example.com'),
    provisioning: false,
    want: { step: 'stuck' },
  },
  {
    name: 'a missing class',
    claim: claim(gold),
    want: {
      step: 'stuck',
      notice: notice('ProvisioningFailed', 'storageclass.storage.k8s.io "gold" not found', 'Warning'),
    },
  },
  {
    name: 'a class of an internal plugin',
    claim: claim(gold),
    storageClass: storageClass('kubernetes.io/no-provisioner'),
    want: {
      step: 'stuck',
      notice: notice('ProvisioningFailed', 'no volume plugin matched name: kubernetes.io/no-provisioner', 'Warning'),
    },
  },
  {
    name: 'no pod uses the claim yet',
    claim: claim(gold),
    storageClass: late,
    candidates: [volume({ storageClassName: 'gold' })],
    want: {
      step: 'pending',
      notice: notice('WaitForFirstConsumer', 'waiting for first consumer to be created before binding'),
    },
  },
  {
    name: 'a pod that is not scheduled',
    claim: claim(gold),
    storageClass: late,
    waitingPods: ['p'],
    want: { step: 'pending', notice: notice('WaitForPodScheduled', 'waiting for pod p to be scheduled') },
  },
  {
    name: 'pods that are not scheduled',
    claim: claim(gold),
    storageClass: late,
    waitingPods: ['p', 'q'],
    want: { step: 'pending', notice: notice('WaitForPodScheduled', 'waiting for pods p,q to be scheduled') },
  },
  {
    name: 'a selected node',
    claim: claim(gold, selected),
    storageClass: late,
    want: { step: 'provision', notice: notice('ExternalProvisioning', external) },
  },
  {
    name: 'a reserved volume',
    claim: claim(gold),
    storageClass: late,
    candidates: [volume({ claimRef })],
    want: { step: 'bind' },
  },
  { name: 'a named volume that does not exist', claim: claim({ volumeName: 'v' }), want: { step: 'pending' } },
  { name: 'a named volume', claim: claim({ volumeName: 'v' }), named: volume(), want: { step: 'bind' } },
  {
    name: 'a named volume that does not match',
    claim: claim({ volumeName: 'v', ...gold }),
    named: volume(),
    want: {
      step: 'pending',
      notice: notice(
        'VolumeMismatch',
        'Cannot bind to requested volume "v": storageClassName does not match',
        'Warning',
      ),
    },
  },
  {
    name: 'claim and volume name each other',
    claim: claim({ volumeName: 'v', ...gold }),
    named: volume({ claimRef: { ...claimRef, uid: '' } }),
    want: { step: 'bind' },
  },
  {
    name: 'a named volume that another claim has',
    claim: claim({ volumeName: 'v' }),
    named: volume({ claimRef: { ...claimRef, uid: 'w' } }),
    want: {
      step: 'pending',
      notice: notice('FailedBinding', 'volume "v" already bound to a different claim.', 'Warning'),
    },
  },
  {
    name: 'a partial binding to a volume that another claim has',
    claim: claim({ volumeName: 'v' }, chosen),
    named: volume({ claimRef: { ...claimRef, uid: 'w' } }),
    want: { step: 'fail' },
  },
  {
    name: 'bound, without the name of its volume',
    claim: claim({}, completed),
    want: {
      step: 'lose',
      notice: notice(
        'ClaimLost',
        'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
        'Warning',
      ),
    },
  },
  {
    name: 'bound, volume deleted',
    claim: claim({ volumeName: 'v' }, completed),
    want: {
      step: 'lose',
      notice: notice('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!', 'Warning'),
    },
  },
  {
    name: 'bound, but the volume names no claim',
    claim: claim({ volumeName: 'v' }, completed),
    named: volume(),
    want: { step: 'bind' },
  },
  {
    name: 'bound',
    claim: claim({ volumeName: 'v' }, completed),
    named: volume({ claimRef }),
    want: { step: 'bind' },
  },
  {
    name: 'bound, but the volume names another claim',
    claim: claim({ volumeName: 'v' }, completed),
    named: volume({ claimRef: { ...claimRef, uid: 'w' } }),
    want: {
      step: 'lose',
      notice: notice(
        'ClaimMisbound',
        'Two claims are bound to the same volume, this one is bound incorrectly',
        'Warning',
      ),
    },
  },
];

t.test('the next step of a claim', (t) => {
  for (const { name, want, ...observed } of claimRows) {
    const plan = planClaim({
      dialect,
      claim: claim(),
      named: undefined,
      candidates: [],
      storageClass: undefined,
      waitingPods: [],
      provisioning: true,
      ownProvisioners: new Set(),
      ...observed,
    });
    t.equal(plan.step, want.step, name);
    if (want.notice !== undefined) t.same('notice' in plan ? plan.notice : undefined, want.notice, name);
  }
  t.end();
});

t.test('the next step of a volume', (t) => {
  const provisioned = { 'pv.kubernetes.io/provisioned-by': 'disk.example.com' };
  const rows: [name: string, volume: PersistentVolume, claim: PersistentVolumeClaim | undefined, want: unknown][] = [
    ['unused', volume(), undefined, { step: 'phase', phase: 'Available' }],
    ['reserved', volume({ claimRef: { ...claimRef, uid: '' } }), claim(), { step: 'phase', phase: 'Available' }],
    ['bound', volume({ claimRef }), claim({ volumeName: 'v' }), { step: 'phase', phase: 'Bound' }],
    ['half bound', volume({ claimRef }), claim(), { step: 'claim' }],
    ['its claim is deleted', volume({ claimRef }), undefined, { step: 'release' }],
    ['its claim has another UID', volume({ claimRef: { ...claimRef, uid: 'w' } }), claim(), { step: 'release' }],
    ['its claim has another volume', volume({ claimRef }, chosen), claim({ volumeName: 'w' }), { step: 'unbind' }],
    [
      'its claim has another volume, and it was provisioned',
      volume({ claimRef, persistentVolumeReclaimPolicy: 'Delete' }, provisioned),
      claim({ volumeName: 'w' }),
      { step: 'release' },
    ],
    [
      'its claim has another volume, and it was provisioned and is retained',
      volume({ claimRef, persistentVolumeReclaimPolicy: 'Retain' }, provisioned),
      claim({ volumeName: 'w' }),
      { step: 'unbind' },
    ],
    [
      'of another mode than its claim',
      volume({ claimRef, volumeMode: 'Block' }),
      claim(),
      {
        step: 'mismatch',
        ofVolume: notice(
          'VolumeMismatch',
          'Cannot bind PersistentVolume to requested PersistentVolumeClaim "data" due to incompatible volumeMode.',
          'Warning',
        ),
        ofClaim: notice(
          'VolumeMismatch',
          'Cannot bind PersistentVolume "v" to requested PersistentVolumeClaim due to incompatible volumeMode.',
          'Warning',
        ),
      } satisfies VolumePlan | object,
    ],
  ];
  for (const [name, given, by, want] of rows) t.same(planVolume({ dialect, volume: given, claim: by }), want, name);
  t.end();
});

t.test('failures of reclaiming depend on policy and provisioner', (t) => {
  const policy = (persistentVolumeReclaimPolicy: string, annotations: Annotations = {}) =>
    volume({ persistentVolumeReclaimPolicy }, annotations);
  const by = (name: string) => ({ 'pv.kubernetes.io/provisioned-by': name });
  const rows: [string, PersistentVolume, string | undefined][] = [
    ['kept', policy('Retain'), undefined],
    ['deleted by an external provisioner', policy('Delete', by('disk.example.com')), undefined],
    [
      'without deleter',
      policy('Delete'),
      'VolumeFailedDelete error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
    ],
    [
      'deleted by a plugin',
      policy('Delete', by('kubernetes.io/aws-ebs')),
      'VolumeFailedDelete no volume plugin matched name: kubernetes.io/aws-ebs',
    ],
    ['recycled', policy('Recycle'), undefined],
    [
      'unknown policy',
      policy('Burn'),
      'VolumeUnknownReclaimPolicy Volume has unrecognized PersistentVolumeReclaimPolicy',
    ],
  ];
  for (const [name, given, want] of rows) {
    const failure = reclaimFailure(given, dialect, false);
    t.equal(failure && `${failure.reason} ${failure.message}`, want, name);
  }
  const gone = copyJson(policy('Delete'));
  gone.metadata.deletionTimestamp = '2022-05-03T00:00:00Z';
  t.equal(reclaimFailure(gone, dialect, false), undefined);
  t.match(reclaimFailure(gone, dialect, true), { reason: 'VolumeFailedDelete' });
  t.end();
});

t.test('binding changes objects only when necessary', (t) => {
  const reference = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', ...claimRef, resourceVersion: '7' };
  const free = boundVolume(volume(), claim(), dialect);
  t.same(free.spec.claimRef, reference);
  t.same(free.metadata.annotations, chosen);
  const reserved = boundVolume(volume({ claimRef: { ...claimRef, uid: '' } }), claim(), dialect);
  t.same(reserved.spec.claimRef, reference);
  t.same(reserved.metadata.annotations, {}, 'bound by the user');
  const bound = volume({ claimRef });
  t.equal(boundVolume(bound, claim(), dialect), bound);
  t.same(boundClaim(claim(), volume(), dialect).metadata.annotations, { ...chosen, ...completed });
  t.same(boundClaim(claim({ volumeName: 'v' }), volume(), dialect).metadata.annotations, completed);
  const done = claim({ volumeName: 'v' }, completed);
  t.equal(boundClaim(done, volume(), dialect), done);

  t.same(unboundVolume(volume({ claimRef }, chosen), dialect), volume());
  t.same(unboundVolume(volume({ claimRef }), dialect).spec.claimRef, { namespace: 'default', name: 'data' });

  t.same(claimBoundTo(claim(), volume({ accessModes: ['ReadWriteOnce'] })).status, {
    phase: 'Bound',
    accessModes: ['ReadWriteOnce'],
    capacity,
  });
  const shrunk = { ...claim(), status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
  t.equal(claimBoundTo(shrunk, volume()), shrunk, 'the node agent updates the capacity of a bound claim');
  t.throws(() => claimBoundTo(claim(), { metadata: { name: 'v' }, spec: {} }), {
    message: 'PersistentVolume "v" is without a storage capacity',
  });
  t.end();
});
