import t from 'tap';
import { podStrategy } from '#api/core/v1/pod/strategy.js';
import { goQuantityValue } from '#api/go/go-values.js';
import { checkRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

const base: Draft = { metadata: { name: 'p', namespace: 'ns' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
const onNodes = (term: object, ...failures: string[]): RuleRow => [
  'spec.affinity',
  { nodeAffinity: { [required]: { nodeSelectorTerms: [term] } } },
  ...failures,
];
const label = (requirement: object, ...failures: string[]): RuleRow =>
  onNodes({ matchExpressions: [{ key: 'k', ...requirement }] }, ...failures);
const field = (requirement: object, ...failures: string[]): RuleRow =>
  onNodes({ matchFields: [{ key: 'metadata.name', ...requirement }] }, ...failures);
const withPods = (kind: string, term: object, ...failures: string[]): RuleRow => [
  'spec.affinity',
  { [kind]: { [required]: [{ topologyKey: 'z', ...term }] } },
  ...failures,
];
const spread = (fields: object, ...failures: string[]): RuleRow => [
  'spec.topologySpreadConstraints',
  [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule', ...fields }],
  ...failures,
];

const rows: RuleRow[] = [
  onNodes({}),
  label({ operator: 'In', values: ['a'] }),
  label(
    { operator: 'NotIn' },
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
  ),
  label(
    { operator: 'Exists', values: ['a'] },
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
  ),
  label(
    { operator: 'Gt', values: ['1', '2'] },
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
  ),
  label({ operator: 'Lt', values: ['1'] }),
  label(
    { operator: 'Is' },
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
  ),
  label(
    { key: '-', operator: 'Exists' },
    `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ),
  field({ operator: 'In', values: ['n'] }),
  field(
    { operator: 'In', values: ['a', 'b'] },
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
  ),
  field(
    { operator: 'Exists' },
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator',
  ),
  field(
    { operator: 'In', values: ['N'] },
    `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values[0]: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ),
  field(
    { key: 'metadata.uid', operator: 'In', values: ['n'] },
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "metadata.uid": not a valid field selector key',
  ),
  [
    'spec.affinity',
    { nodeAffinity: { [preferred]: [{ weight: 101, preference: {} }] } },
    'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100',
  ],
  withPods(
    'podAffinity',
    { topologyKey: '' },
    'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty',
    'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty',
    `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ),
  withPods(
    'podAntiAffinity',
    { labelSelector: { matchLabels: { a: '-' } } },
    `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
  ),
  withPods(
    'podAntiAffinity',
    { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } },
    'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
  ),
  withPods(
    'podAffinity',
    { namespaces: ['ns', 'N'] },
    `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid value: "N": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ),
  [
    'spec.affinity',
    { podAffinity: { [preferred]: [{ weight: 0, podAffinityTerm: { topologyKey: 'z' } }] } },
    'spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100',
  ],
  spread({}),
  spread({ maxSkew: -1 }, 'spec.topologySpreadConstraints[0].maxSkew: Invalid value: -1: must be greater than zero'),
  spread({ topologyKey: '' }, 'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty'),
  spread(
    { whenUnsatisfiable: '' },
    'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"',
  ),
  spread({ minDomains: 2 }),
  spread(
    { minDomains: 0 },
    'spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero',
  ),
  spread(
    { minDomains: 2, whenUnsatisfiable: 'ScheduleAnyway' },
    'spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
  ),
  [
    'spec.topologySpreadConstraints',
    [
      { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' },
      { maxSkew: 2, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway' },
      { maxSkew: 3, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' },
    ],
    'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"',
  ],
  [
    'spec.tolerations',
    [{ key: '-', operator: 'Exists' }],
    `spec.tolerations[0].key: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ],
  [
    'spec.tolerations',
    [{ key: 'k', value: '-' }],
    `spec.tolerations[0].operator: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
  ],
  [
    'spec.nodeSelector',
    { '-': 'a', b: '-' },
    `spec.nodeSelector: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    `spec.nodeSelector: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
  ],
  [
    'spec.readinessGates',
    [{ conditionType: '-' }],
    `spec.readinessGates[0].conditionType: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ],
];

const others: RuleRow[] = [
  [
    'spec.subdomain',
    'A',
    `spec.subdomain: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ],
  [
    'spec.priorityClassName',
    'P',
    `spec.priorityClassName: Invalid value: "P": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  [
    'spec.runtimeClassName',
    '',
    `spec.runtimeClassName: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  ['spec.preemptionPolicy', '', 'spec.preemptionPolicy: Required value'],
  ['spec.dnsPolicy', ''],
  [
    'spec.dnsConfig',
    { nameservers: ['x'], searches: ['A', 'b.'], options: [{}] },
    'spec.dnsConfig.nameservers[0]: Invalid value: "x": must be valid IP address',
    `spec.dnsConfig.searches[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    'spec.dnsConfig.options[0]: Required value: must not be empty',
  ],
  [
    'spec.hostAliases',
    [{ ip: '10.0.0.1', hostnames: ['H'] }],
    `spec.hostAliases.hostnames: Invalid value: "H": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  [
    'spec.overhead',
    { 'example.com/gpu': '500m' },
    `spec.overhead.limits[example.com/gpu]: Invalid value: ${goQuantityValue('500m').toString()}: must be an integer`,
  ],
  ['spec.hostPID', true],
  [
    'spec.securityContext',
    { runAsGroup: -1, runAsUser: 2 ** 31 },
    'spec.securityContext.runAsUser: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive',
    'spec.securityContext.runAsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive',
  ],
  [
    'spec.securityContext',
    { sysctls: [{ name: '' }, { name: 'A b' }, { name: 'kernel/shm_rmid_forced' }] },
    'spec.securityContext.sysctls[0].name: Required value',
    'spec.securityContext.sysctls[1].name: Invalid value: "A b": must have at most 253 characters and match regex ([a-z0-9]([-_a-z0-9]*[a-z0-9])?\\.)*[a-z0-9]([-_a-z0-9]*[a-z0-9])?',
    'spec.securityContext.sysctls[2].name: Invalid value: "kernel/shm_rmid_forced": must have at most 253 characters and match regex ([a-z0-9]([-_a-z0-9]*[a-z0-9])?\\.)*[a-z0-9]([-_a-z0-9]*[a-z0-9])?',
  ],
  ['spec.os', { name: '' }, 'spec.os.name: Required value: cannot be empty'],
];

t.test('scheduling fields', (t) => {
  checkRules(t, podStrategy, base, rows);
  t.end();
});

t.test('other fields of the spec', (t) => {
  checkRules(t, podStrategy, base, others);
  const shared = { ...base, spec: { ...(base['spec'] as object), hostPID: true } };
  checkRules(t, podStrategy, shared, [
    [
      'spec.shareProcessNamespace',
      true,
      'spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
    ],
  ]);
  const hosted = { ...base, spec: { ...(base['spec'] as object), hostNetwork: true } };
  checkRules(t, podStrategy, hosted, [
    [
      'spec.containers.0.ports',
      [{ containerPort: 1, hostPort: 2 }],
      'spec.containers[0].ports[0].containerPort: Invalid value: 1: must match `hostPort` when `hostNetwork` is true',
    ],
  ]);
  t.end();
});
