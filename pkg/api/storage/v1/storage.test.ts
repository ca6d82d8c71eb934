import t from 'tap';
import { persistentVolumeClaimStrategy } from '#api/core/v1/persistentvolumeclaim/strategy.js';
import { storageClassStrategy } from '#api/storage/v1/storageclass/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

type Row = [string, unknown, ...string[]];
const metadata = { name: 'n', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' };

t.test('claims and classes', (t) => {
  const base: Draft = {
    metadata,
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const rows: Row[] = [
    ['spec.accessModes', [], 'spec.accessModes: Required value: at least 1 access mode is required'],
    [
      'spec.accessModes',
      ['X'],
      'spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
    ],
    ['spec.resources', undefined, 'spec.resources[storage]: Required value'],
  ];
  t.strictSame(createFailures(persistentVolumeClaimStrategy, base), []);
  for (const [at, value, ...want] of rows)
    t.strictSame(createFailures(persistentVolumeClaimStrategy, withField(base, at, value)), want, at);
  t.strictSame(updateFailures(persistentVolumeClaimStrategy, base, withField(base, 'spec.storageClassName', 'x')), [
    'spec: Forbidden: spec is immutable after creation except resources.requests for bound claims',
  ]);
  t.strictSame(updateFailures(persistentVolumeClaimStrategy, base, withField(base, 'spec.volumeName', 'v')), []);
  t.strictSame(
    persistentVolumeClaimStrategy.cells?.(created(persistentVolumeClaimStrategy, base) as never, testContext),
    ['n', 'Pending', '', '', '', '', '60m', 'Filesystem'],
  );
  const storage: Draft = { metadata: { name: 'c' }, provisioner: 'x.io/p' };
  t.match(created(storageClassStrategy, storage), { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
  t.strictSame(createFailures(storageClassStrategy, { metadata: { name: 'c' } }), ['provisioner: Required value']);
  t.strictSame(updateFailures(storageClassStrategy, storage, { ...storage, provisioner: 'y' }), [
    'provisioner: Forbidden: updates to provisioner are forbidden.',
  ]);
  t.end();
});
