import t from 'tap';
import { persistentVolumeClaimStrategy } from '#api/core/v1/persistentvolumeclaim/strategy.js';
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import {
  changeFailures,
  created,
  createFailures,
  type Draft,
  testContext,
  withField,
  withGates,
} from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';

const strategy = persistentVolumeClaimStrategy;
const base: Draft = {
  metadata: { name: 'c', namespace: 'ns' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
};
const oldClass = 'volume.beta.orch.io/storage-class';
const clone = { kind: 'PersistentVolumeClaim', name: 'other' };
const snapshot = { apiGroup: 'snapshot.storage.orch.io', kind: 'VolumeSnapshot', name: 's' };
const custom = { apiGroup: 'example.com', kind: 'Book', name: 'b' };

const rows: RuleRow[] = [
  ['spec.accessModes', [], 'spec.accessModes: Required value: at least 1 access mode is required'],
  [
    'spec.accessModes',
    ['ReadWriteOncePod'],
    'spec.accessModes: Unsupported value: "ReadWriteOncePod": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
  ],
  [
    'spec.selector',
    { matchLabels: { a: '-' } },
    `spec.selector.matchLabels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
  ],
  ['spec.resources', {}, 'spec.resources[storage]: Required value'],
  [
    'spec.resources',
    { requests: { storage: '0' } },
    'spec.resources[storage]: Invalid value: "0": must be greater than zero',
  ],
  [
    'spec.resources',
    { requests: { storage: '-1' } },
    'spec.resources[storage]: Invalid value: "-1": must be greater than zero',
  ],
  ['spec.storageClassName', ''],
  [
    'spec.storageClassName',
    'A',
    `spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  ['spec.volumeMode', 'X', 'spec.volumeMode: Unsupported value: "X": supported values: "Block", "Filesystem"'],
  ['spec.dataSource', clone],
  ['spec.dataSource', snapshot],
  ['spec.dataSourceRef', custom],
  [
    'spec.dataSource',
    { kind: 'PersistentVolumeClaim' },
    'spec.dataSource.name: Required value',
    'spec.dataSourceRef.name: Required value',
  ],
  [
    'spec.dataSourceRef',
    { apiGroup: 'a.b', name: 'x' },
    'spec.dataSource.kind: Required value',
    'spec.dataSourceRef.kind: Required value',
  ],
  [
    'spec.dataSourceRef',
    { kind: 'Pod', name: 'x' },
    'spec.dataSource: Invalid value: "Pod"',
    'spec.dataSourceRef: Invalid value: "Pod"',
  ],
];

t.test('claims are validated as in 1.24', (t) => {
  checkRules(t, strategy, base, rows);
  const both = withField(withField(base, 'spec.dataSource', clone), 'spec.dataSourceRef', custom);
  t.strictSame(createFailures(strategy, both), ['spec: Invalid value: "spec.dataSource": must match dataSourceRef']);
  const single = withGates({ ReadWriteOncePod: true });
  const modes = (...accessModes: string[]) => withField(base, 'spec.accessModes', accessModes);
  t.strictSame(createFailures(strategy, modes('ReadWriteOncePod'), single), []);
  t.strictSame(createFailures(strategy, modes('ReadWriteOncePod', 'ReadOnlyMany'), single), [
    'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
  ]);
  t.end();
});

t.test('data sources of volumes', (t) => {
  const createdClaim = (draft: Draft, context = testContext) =>
    (created(strategy, draft, context) as PersistentVolumeClaim).spec;
  t.match(createdClaim(withField(base, 'spec.dataSource', clone)), { dataSource: clone, dataSourceRef: clone });
  t.match(createdClaim(withField(base, 'spec.dataSourceRef', custom)), { dataSource: custom, dataSourceRef: custom });
  const forgotten = createdClaim(withField(base, 'spec.dataSource', custom));
  t.equal(forgotten.dataSource, undefined, 'the older field knows claims and snapshots only');
  t.equal(forgotten.dataSourceRef, undefined);
  const off = createdClaim(withField(base, 'spec.dataSource', clone), withGates({ AnyVolumeDataSource: false }));
  t.match(off.dataSource, clone);
  t.equal(off.dataSourceRef, undefined);
  const older = copyJson(created(strategy, withField(base, 'spec.dataSource', clone)) as PersistentVolumeClaim);
  delete older.spec.dataSourceRef;
  const now = withField(withField(base, 'spec.dataSource', clone), 'spec.dataSourceRef', clone);
  t.strictSame(changeFailures(strategy, older, now), []);
  t.end();
});

t.test('allowed changes', (t) => {
  const unbound: RuleRow[] = [
    ['metadata.labels', { a: 'b' }],
    ['spec.volumeName', 'v'],
    [
      'spec.accessModes',
      ['ReadOnlyMany'],
      'spec: Forbidden: spec is immutable after creation except resources.requests for bound claims',
    ],
    [
      'spec.storageClassName',
      'c',
      'spec: Forbidden: spec is immutable after creation except resources.requests for bound claims',
    ],
    [
      'spec.resources.requests.storage',
      '3Gi',
      'spec: Forbidden: spec is immutable after creation except resources.requests for bound claims',
    ],
    [
      'spec.resources.requests.storage',
      '1Gi',
      'spec: Forbidden: spec is immutable after creation except resources.requests for bound claims',
      'spec.resources.requests.storage: Forbidden: field can not be less than previous value',
    ],
    [
      'spec.volumeMode',
      'Block',
      'spec: Forbidden: spec is immutable after creation except resources.requests for bound claims',
      'volumeMode: Invalid value: "Block": field is immutable',
    ],
    [
      'metadata.annotations',
      { [oldClass]: 'c' },
      'metadata.annotations.volume.beta.orch.io/storage-class: Invalid value: "c": field is immutable',
    ],
  ];
  checkUpdateRules(t, strategy, base, unbound);
  const bound = copyJson(created(strategy, withField(base, 'spec.volumeName', 'v')) as PersistentVolumeClaim);
  bound.status = { phase: 'Bound', capacity: { storage: '1Gi' } };
  const change = (path: string, value: unknown, context = testContext) =>
    changeFailures(strategy, bound, withField(withField(base, 'spec.volumeName', 'v'), path, value), context);
  const fixed = 'spec: Forbidden: spec is immutable after creation except resources.requests for bound claims';
  const size = 'spec.resources.requests.storage';
  t.strictSame(change(size, '3Gi'), []);
  t.strictSame(change(size, '1Gi'), [`${size}: Forbidden: field can not be less than previous value`]);
  t.strictSame(change('spec.volumeName', 'w'), [fixed]);
  t.strictSame(change('spec.resources.limits', { storage: '9Gi' }), [fixed]);
  const recover = withGates({ RecoverVolumeExpansionFailure: true });
  t.strictSame(change(size, '1500Mi', recover), []);
  t.strictSame(change(size, '1Gi', recover), [`${size}: Forbidden: field can not be less than status.capacity`]);
  t.end();
});

t.test('the class moves from the annotation to its field', (t) => {
  const old = withField(base, 'metadata.annotations', { [oldClass]: 'c' });
  const rows: RuleRow[] = [
    ['spec.storageClassName', 'c'],
    [
      'spec.storageClassName',
      'd',
      'spec: Forbidden: spec is immutable after creation except resources.requests for bound claims',
    ],
    [
      'metadata.annotations',
      {},
      'metadata.annotations.volume.beta.orch.io/storage-class: Invalid value: "": field is immutable',
    ],
  ];
  checkUpdateRules(t, strategy, old, rows);
  t.end();
});

t.test('the status of a claim', (t) => {
  const rows: RuleRow[] = [
    ['capacity', { storage: '1Gi' }],
    ['capacity', { storage: '-1' }, 'status.capacity[storage]: Invalid value: -1: must be a valid resource quantity'],
    ['resizeStatus', 'Odd'],
  ];
  checkStatusRules(t, strategy, { base }, rows);
  const gated: RuleRow[] = [
    ['resizeStatus', 'NodeExpansionPending'],
    [
      'resizeStatus',
      'Odd',
      'status.resizeStatus: Unsupported value: "Odd": supported values: "", "ControllerExpansionFailed", "ControllerExpansionInProgress", "NodeExpansionFailed", "NodeExpansionInProgress", "NodeExpansionPending"',
    ],
    ['allocatedResources', { storage: '1Gi' }],
    [
      'allocatedResources',
      { cpu: '1' },
      'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
    ],
    [
      'allocatedResources',
      { storage: '-1' },
      'status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity',
    ],
  ];
  checkStatusRules(t, strategy, { base }, gated, withGates({ RecoverVolumeExpansionFailure: true }));
  t.end();
});
