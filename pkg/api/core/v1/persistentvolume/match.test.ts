import t from 'tap';
import { bestMatch, isBoundTo, mismatch } from '#api/core/v1/persistentvolume/match.js';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
} from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';

function volume(name: string, size: string, spec: Partial<PersistentVolumeSpec> = {}, metadata: ObjectMeta = {}) {
  const object: PersistentVolume = {
    metadata: { name, ...metadata },
    spec: { capacity: { storage: size }, accessModes: ['ReadWriteOnce'], ...spec },
    status: { phase: 'Available' },
  };
  return object;
}

function claim(spec: Partial<PersistentVolumeClaimSpec> = {}, metadata: ObjectMeta = {}): PersistentVolumeClaim {
  return {
    metadata: { name: 'data', namespace: 'default', uid: 'u', ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, ...spec },
  };
}

const claimRef = { namespace: 'default', name: 'data' };
const going = { deletionTimestamp: '2022-05-03T00:00:00Z' };
const boundVolume = volume('bound', '2Gi', { claimRef: { ...claimRef, name: 'other' } });

interface Row {
  readonly name: string;
  readonly claim?: PersistentVolumeClaim;
  readonly volumes: PersistentVolume[];
  readonly delayed?: boolean;
  readonly want: string | undefined;
}

const rows: Row[] = [
  { name: 'none', volumes: [], want: undefined },
  { name: 'the smallest', volumes: [volume('c', '5Gi'), volume('a', '3Gi'), volume('b', '4Gi')], want: 'a' },
  { name: 'none that is too small', volumes: [volume('a', '1Gi')], want: undefined },
  { name: 'one of just the size', volumes: [volume('a', '2048Mi')], want: 'a' },
  { name: 'the first of several of a size', volumes: [volume('a', '2Gi'), volume('b', '2Gi')], want: 'a' },
  { name: 'none that is bound to another claim', volumes: [boundVolume, volume('a', '9Gi')], want: 'a' },
  {
    name: 'the reserved one, however large',
    volumes: [volume('a', '2Gi'), volume('mine', '9Gi', { claimRef })],
    want: 'mine',
  },
  {
    name: 'not one that was reserved for an earlier claim of the name',
    volumes: [volume('a', '2Gi', { claimRef: { ...claimRef, uid: 'old' } })],
    want: undefined,
  },
  {
    name: 'the reserved one, though it is not available yet',
    volumes: [{ ...volume('mine', '2Gi', { claimRef: { ...claimRef, uid: 'u' } }), status: { phase: 'Pending' } }],
    want: 'mine',
  },
  { name: 'not a reserved one that is too small', volumes: [volume('mine', '1Gi', { claimRef })], want: undefined },
  {
    name: 'none that is not available yet',
    volumes: [{ ...volume('a', '2Gi'), status: { phase: 'Pending' } }],
    want: undefined,
  },
  { name: 'none that goes', volumes: [volume('a', '2Gi', {}, going)], want: undefined },
  {
    name: 'one with more access modes',
    volumes: [volume('a', '2Gi', { accessModes: ['ReadWriteMany', 'ReadWriteOnce'] })],
    want: 'a',
  },
  {
    name: 'rather one with fewer access modes than a smaller one',
    volumes: [volume('a', '2Gi', { accessModes: ['ReadWriteMany', 'ReadWriteOnce'] }), volume('b', '9Gi')],
    want: 'b',
  },
  {
    name: 'none without the access mode',
    claim: claim({ accessModes: ['ReadWriteMany'] }),
    volumes: [volume('a', '2Gi')],
    want: undefined,
  },
  {
    name: 'none of another volume mode',
    claim: claim({ volumeMode: 'Block' }),
    volumes: [volume('a', '2Gi'), volume('b', '3Gi', { volumeMode: 'Block' })],
    want: 'b',
  },
  {
    name: 'the usual volume mode',
    claim: claim({ volumeMode: 'Filesystem' }),
    volumes: [volume('b', '2Gi', { volumeMode: 'Block' }), volume('a', '3Gi')],
    want: 'a',
  },
  {
    name: 'one that the selector selects',
    claim: claim({ selector: { matchLabels: { speed: 'fast' } } }),
    volumes: [volume('a', '2Gi'), volume('b', '3Gi', {}, { labels: { speed: 'fast' } })],
    want: 'b',
  },
  {
    name: 'the reserved one, selected or not',
    claim: claim({ selector: { matchLabels: { speed: 'fast' } } }),
    volumes: [volume('a', '2Gi', { claimRef })],
    want: 'a',
  },
  {
    name: 'one of the class',
    claim: claim({ storageClassName: 'gold' }),
    volumes: [volume('a', '2Gi'), volume('b', '3Gi', { storageClassName: 'gold' })],
    want: 'b',
  },
  {
    name: 'one without a class for the empty class',
    claim: claim({ storageClassName: '' }),
    volumes: [volume('a', '2Gi', { storageClassName: 'gold' }), volume('b', '3Gi')],
    want: 'b',
  },
  {
    name: "the annotation's class",
    claim: claim({}, { annotations: { 'volume.beta.orch.io/storage-class': 'gold' } }),
    volumes: [volume('a', '2Gi'), volume('b', '3Gi', { storageClassName: 'gold' })],
    want: 'b',
  },
  { name: 'none when the scheduler chooses', delayed: true, volumes: [volume('a', '2Gi')], want: undefined },
  {
    name: 'the one that the scheduler has chosen',
    delayed: true,
    volumes: [volume('a', '2Gi'), volume('b', '3Gi', { claimRef: { ...claimRef, uid: 'u' } })],
    want: 'b',
  },
];

t.test('the volume for a claim', (t) => {
  for (const { name, claim: given = claim(), volumes, delayed = false, want } of rows) {
    t.equal(bestMatch(given, volumes, { delayed, dialect })?.metadata.name, want, name);
  }
  const bad = claim({ selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } });
  t.throws(() => bestMatch(bad, [], { delayed: false, dialect }), /"Like" is not a valid label selector operator/);
  t.end();
});

t.test('reasons why a volume is unavailable', (t) => {
  const table: [PersistentVolume, PersistentVolumeClaim, string | undefined][] = [
    [volume('a', '2Gi'), claim(), undefined],
    [volume('a', '2Gi', {}, going), claim(), 'the volume is marked for deletion "a"'],
    [volume('a', '1Gi'), claim(), 'requested PV is too small'],
    [volume('a', '2Gi', { storageClassName: 'gold' }), claim(), 'storageClassName does not match'],
    [volume('a', '2Gi', { volumeMode: 'Block' }), claim(), 'incompatible volumeMode'],
    [volume('a', '2Gi'), claim({ accessModes: ['ReadWriteMany'] }), 'incompatible accessMode'],
  ];
  for (const [given, by, why] of table) t.equal(mismatch(given, by, dialect), why, why ?? 'suits');
  t.end();
});

t.test('whether a volume is bound to a claim', (t) => {
  const rows: [object | undefined, boolean][] = [
    [undefined, false],
    [claimRef, true],
    [{ ...claimRef, uid: '' }, true],
    [{ ...claimRef, uid: 'u' }, true],
    [{ ...claimRef, uid: 'v' }, false],
    [{ ...claimRef, namespace: 'other' }, false],
    [{ ...claimRef, name: 'other' }, false],
  ];
  for (const [reference, bound] of rows) {
    const spec = reference === undefined ? {} : { claimRef: reference };
    t.equal(isBoundTo({ metadata: {}, spec }, claim()), bound, JSON.stringify(reference));
  }
  t.end();
});
