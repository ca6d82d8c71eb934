import t from 'tap';
import { csiStorageCapacityStrategy } from '#api/storage/v1/csistoragecapacity/strategy.js';
import { csiDriverStrategy, csiNodeStrategy, volumeAttachmentStrategy } from '#api/storage/v1/driver/strategies.js';
import { storageClassStrategy } from '#api/storage/v1/storageclass/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import { created, createFailures, type Draft, withField, withGates } from '#api/testing/strategy-table.js';

t.test('storage classes are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'c' }, provisioner: 'example.com/p' };
  const term = (...matchLabelExpressions: object[]) => ({ matchLabelExpressions });
  const zone = { key: 'zone', values: ['a', 'b'] };
  const rows: RuleRow[] = [
    ['provisioner', '', 'provisioner: Required value'],
    ['provisioner', 'Example.com/P'],
    [
      'provisioner',
      'a b',
      `provisioner: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    ['parameters', { a: 'b' }],
    ['parameters', { '': 'b' }, 'parameters: Invalid value: "": field can not be empty.'],
    ['parameters', { a: 'x'.repeat(256 * 1024) }, 'parameters: Too long: must have at most 262144 bytes'],
    [
      'parameters',
      Object.fromEntries(Array.from({ length: 513 }, (_, i) => [`k${i}`, ''])),
      'parameters: Too long: must have at most 512 bytes',
    ],
    ['reclaimPolicy', 'Recycle', 'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
    [
      'volumeBindingMode',
      'Later',
      'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
    ],
    [
      'volumeBindingMode',
      '',
      'volumeBindingMode: Unsupported value: "": supported values: "Immediate", "WaitForFirstConsumer"',
    ],
    ['allowedTopologies', [term(zone), term({ key: 'rack', values: ['a'] })]],
    [
      'allowedTopologies',
      [term({ key: 'zone', values: [] })],
      'allowedTopologies[0].matchLabelExpressions[0].values: Required value',
    ],
    [
      'allowedTopologies',
      [term({ key: 'zone', values: ['a', 'a'] })],
      'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
    ],
    [
      'allowedTopologies',
      [term({ key: '-', values: ['a'] })],
      `allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'allowedTopologies',
      [term(zone, zone)],
      'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"',
    ],
    [
      'allowedTopologies',
      [term(zone), term({ key: 'zone', values: ['b', 'a'] })],
      'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
    ],
  ];
  checkRules(t, storageClassStrategy, base, rows);
  const changes: RuleRow[] = [
    ['provisioner', 'other', 'provisioner: Forbidden: updates to provisioner are forbidden.'],
    ['parameters', { a: 'b' }, 'parameters: Forbidden: updates to parameters are forbidden.'],
    ['reclaimPolicy', 'Retain', 'reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.'],
    [
      'volumeBindingMode',
      'WaitForFirstConsumer',
      'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
    ],
    ['allowVolumeExpansion', true],
    ['mountOptions', ['ro']],
  ];
  checkUpdateRules(t, storageClassStrategy, base, changes);
  t.end();
});

t.test('drivers are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'd.example.com' }, spec: {} };
  const rows: RuleRow[] = [
    ['metadata.name', 'x'.repeat(64)],
    [
      'spec.fsGroupPolicy',
      'Odd',
      'spec.fsGroupPolicy: Unsupported value: "Odd": supported values: "File", "None", "ReadWriteOnceWithFSType"',
    ],
    [
      'spec.volumeLifecycleModes',
      ['Persistent', 'Odd'],
      'spec.volumeLifecycleModes: Unsupported value: "Odd": supported values: "Persistent", "Ephemeral"',
    ],
    ['spec.tokenRequests', [{ audience: 'a' }, { audience: '' }]],
    [
      'spec.tokenRequests',
      [{ audience: 'a' }, { audience: 'a' }],
      'spec.tokenRequests[1].audience: Duplicate value: "a"',
    ],
    [
      'spec.tokenRequests',
      [{ audience: 'a', expirationSeconds: 599 }],
      'spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    ],
    [
      'spec.tokenRequests',
      [{ audience: 'a', expirationSeconds: 2 ** 32 + 1 }],
      'spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
  ];
  checkRules(t, csiDriverStrategy, base, rows);
  const changes: RuleRow[] = [
    ['spec.attachRequired', false, 'spec.attachedRequired: Invalid value: false: field is immutable'],
    [
      'spec.volumeLifecycleModes',
      ['Ephemeral'],
      'spec.volumeLifecycleModes: Invalid value: []storage.VolumeLifecycleMode{"Ephemeral"}: field is immutable',
    ],
    ['spec.podInfoOnMount', true, 'spec.podInfoOnMount: Invalid value: true: field is immutable'],
    ['spec.fsGroupPolicy', 'None', 'spec.fsGroupPolicy: Invalid value: "None": field is immutable'],
    ['spec.storageCapacity', true],
    ['spec.attachRequired', undefined],
  ];
  checkUpdateRules(t, csiDriverStrategy, base, changes);
  t.match(created(csiDriverStrategy, base), {
    metadata: { generation: undefined },
    spec: {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      requiresRepublish: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      volumeLifecycleModes: ['Persistent'],
    },
  });
  t.end();
});

t.test('drivers of nodes are validated as in 1.24', (t) => {
  const driver = { name: 'd', nodeID: 'n', topologyKeys: ['a.b/zone'] };
  const base: Draft = { metadata: { name: 'n' }, spec: { drivers: [driver] } };
  const of = (fields: object, ...failures: string[]): RuleRow => [
    'spec.drivers',
    [{ ...driver, ...fields }],
    ...failures,
  ];
  const rows: RuleRow[] = [
    of(
      { name: '' },
      'spec.drivers[0].name: Required value',
      `spec.drivers[0].name: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ),
    of({ name: 'x'.repeat(64) }, 'spec.drivers[0].name: Too long: must have at most 63 bytes'),
    of({ nodeID: '' }, 'spec.drivers[0].nodeID: Required value'),
    of({ nodeID: 'x'.repeat(256) }),
    of(
      { nodeID: 'x'.repeat(257) },
      `spec.drivers[0].nodeID: Invalid value: "${'x'.repeat(257)}": must be 256 characters or less`,
    ),
    of({ allocatable: { count: 0 } }),
    of(
      { allocatable: { count: -1 } },
      'spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0',
    ),
    of({ topologyKeys: ['a', 'a'] }, 'spec.drivers[0]: Duplicate value: "a"'),
    of(
      { topologyKeys: [''] },
      'spec.drivers[0]: Required value',
      'spec.drivers[0]: Invalid value: "": name part must be non-empty',
      `spec.drivers[0]: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ),
    ['spec.drivers', [driver, driver], 'spec.drivers[1].name: Duplicate value: "d"'],
  ];
  checkRules(t, csiNodeStrategy, base, rows);
  const changes: RuleRow[] = [
    ['spec.drivers', []],
    ['spec.drivers', [driver, { name: 'e', nodeID: 'n' }]],
    [
      'spec.drivers',
      [{ ...driver, nodeID: 'm' }],
      'CSINodeDriver: Invalid value: storage.CSINodeDriver{Name:"d", NodeID:"m", TopologyKeys:[]string{"a.b/zone"}, Allocatable:(*storage.VolumeNodeResources)(nil)}: field is immutable',
    ],
  ];
  checkUpdateRules(t, csiNodeStrategy, base, changes);
  t.end();
});

t.test('attachments are validated as in 1.24', (t) => {
  const inline = { accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: 'h' } };
  const base: Draft = {
    metadata: { name: 'a' },
    spec: { attacher: 'd', nodeName: 'n', source: { persistentVolumeName: 'v' } },
  };
  const source = (fields: object, ...failures: string[]): RuleRow => ['spec.source', fields, ...failures];
  const inlined = (fields: object, ...failures: string[]): RuleRow =>
    source({ inlineVolumeSpec: { ...inline, ...fields } }, ...failures);
  const rows: RuleRow[] = [
    [
      'spec.attacher',
      '',
      'spec.attacher: Required value',
      'spec.attacher: Required value',
      `spec.attacher: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.attacher',
      'a_b',
      `spec.attacher: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.nodeName',
      'N',
      `spec.nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    source({}, 'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName'),
    source(
      { persistentVolumeName: '' },
      'spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName',
      `spec.source.persistentVolumeName: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ),
    source(
      { persistentVolumeName: 'V' },
      `spec.source.persistentVolumeName: Invalid value: "V": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ),
    source(
      { persistentVolumeName: 'v', inlineVolumeSpec: inline },
      'spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
    ),
    inlined({}),
    inlined({ persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' }),
    inlined({ accessModes: [] }, 'spec.source.inlineVolumeSpec.accessModes: Required value'),
    inlined(
      { csi: undefined, hostPath: { path: '/p' } },
      'spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes',
    ),
    inlined(
      { capacity: { storage: '1' }, claimRef: { name: 'c' }, storageClassName: 's' },
      'spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the context of inline volumes',
      'spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes',
      'spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in the context of inline volumes',
    ),
    inlined(
      { accessModes: [], persistentVolumeReclaimPolicy: 'Delete', volumeMode: 'Block', nodeAffinity: {} },
      'spec.source.inlineVolumeSpec.accessModes: Required value',
      'spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes',
      'spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the context of inline volumes',
      'spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes',
    ),
  ];
  checkRules(t, volumeAttachmentStrategy, base, rows);
  t.match(
    createFailures(volumeAttachmentStrategy, withField(base, 'spec.source', {}), withGates({ CSIMigration: false })),
    [/must specify persistentVolumeName when CSIMigration feature is disabled$/],
  );
  checkUpdateRules(t, volumeAttachmentStrategy, base, [['metadata.labels', { a: 'b' }]]);
  t.match(created(volumeAttachmentStrategy, { ...base, status: { attached: true } }), { status: undefined });
  const statuses: RuleRow[] = [
    ['attached', true],
    [
      'attachmentMetadata',
      { a: 'x'.repeat(256 * 1024) },
      'status.attachmentMetadata: Too long: must have at most 262144 bytes',
    ],
    [
      'attachError',
      { message: 'm'.repeat(1025) },
      'status.attachError.message: Too long: must have at most 262144 bytes',
    ],
    ['detachError', { message: 'm'.repeat(1024) }],
  ];
  checkStatusRules(t, volumeAttachmentStrategy, { base }, statuses);
  t.end();
});

t.test('capacities are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'a', namespace: 'ns' }, storageClassName: 'c' };
  const rows: RuleRow[] = [
    [
      'storageClassName',
      'C',
      `storageClassName: Invalid value: "C": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['capacity', '-1', 'capacity: Invalid value: "-1": must be greater than or equal to 0'],
    [
      'nodeTopology',
      { matchExpressions: [{ key: 'a', operator: 'In' }] },
      "nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
  ];
  checkRules(t, csiStorageCapacityStrategy, base, rows);
  const changes: RuleRow[] = [
    ['storageClassName', 'd', 'storageClassName: Invalid value: "d": field is immutable'],
    [
      'nodeTopology',
      { matchLabels: { a: 'b' } },
      'nodeTopology: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ],
    ['capacity', '1Gi'],
  ];
  checkUpdateRules(t, csiStorageCapacityStrategy, base, changes);
  t.end();
});
