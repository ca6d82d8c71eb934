import t from 'tap';
import { nodeStrategy } from '#api/core/v1/node/strategy.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { goQuantityValue } from '#api/go/go-values.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import { changeFailures, created, type Draft, testContext, updated, withField } from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';

const base: Draft = { metadata: { name: 'n' }, spec: {} };
const taints = 'scheduler.alpha.orch.io/taints';
const avoid = 'scheduler.alpha.orch.io/preferAvoidPods';
const a = (key: string, value: string, ...failures: string[]): RuleRow => [
  'metadata.annotations',
  { [key]: value },
  ...failures,
];
const source = { configMap: { namespace: 'ns', name: 'm', kubeletConfigKey: 'k' } };
const used = { configMap: { ...source.configMap, uid: 'u', resourceVersion: '1' } };

t.test('create', (t) => {
  const rows: RuleRow[] = [
    [
      'metadata.name',
      'N',
      `metadata.name: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.taints',
      [{ key: '-', effect: 'NoSchedule' }],
      `metadata.taints[0].key: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'spec.taints',
      [{ key: 'k', value: '-'.repeat(64), effect: 'NoSchedule' }],
      `metadata.taints[0].value: Invalid value: "----------------------------------------------------------------": must be no more than 63 characters;a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    a(taints, '[{"key":"k","effect":"NoSchedule"}]'),
    a(
      taints,
      '[{"key":"k","effect":"Odd"}]',
      'metadata.annotations.scheduler.alpha.orch.io/taints[0].effect: Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ),
    a(taints, '{}', 'metadata.annotations: Invalid value: "scheduler.alpha.orch.io/taints": must be a list in JSON'),
    a(avoid, '{"preferAvoidPods":[{"podSignature":{"podController":{"controller":true}}}]}'),
    a(
      avoid,
      '{"preferAvoidPods":[{}]}',
      'metadata.annotations.scheduler.alpha.orch.io/preferAvoidPods[0].PodSignature: Required value',
    ),
    a(
      avoid,
      '{"preferAvoidPods":[{"podSignature":{"podController":{"controller":false}}}]}',
      'metadata.annotations.scheduler.alpha.orch.io/preferAvoidPods[0].PodSignature.PodController.Controller: Invalid value: false: must point to a controller',
    ),
    a(
      avoid,
      '[',
      'metadata.annotations.AvoidPods: Invalid value: "scheduler.alpha.orch.io/preferAvoidPods": must be an object in JSON',
    ),
    [
      'spec.podCIDRs',
      ['10.0.0.0/24', '10.0.0.0/24'],
      'spec.podCIDRs: Invalid value: []string{"10.0.0.0/24", "10.0.0.0/24"}: may specify no more than one CIDR for each IP family',
      'spec.podCIDRs[1]: Duplicate value: "10.0.0.0/24"',
    ],
    [
      'spec.podCIDRs',
      ['10.0.0.0/24', 'fd00::/64', 'fd01::/64'],
      'spec.podCIDRs: Invalid value: []string{"10.0.0.0/24", "fd00::/64", "fd01::/64"}: may specify no more than one CIDR for each IP family',
    ],
    [
      'status.allocatable',
      { 'example.com/gpu': '500m' },
      `status.allocatable.example.com/gpu: Invalid value: ${goQuantityValue('500m').toString()}: must be an integer`,
    ],
    ['status.capacity', { anything: '1' }],
  ];
  checkRules(t, nodeStrategy, base, rows);
  const dropped = created(
    nodeStrategy,
    withField(withField(base, 'spec.configSource', source), 'status.config', {}),
  ) as Node;
  t.equal(dropped.spec.configSource, undefined, 'no node gets a configuration source');
  t.equal(dropped.status?.config, undefined);
  t.end();
});

t.test('update', (t) => {
  const rows: RuleRow[] = [
    ['spec.externalID', 'e', 'spec.externalID: Forbidden: may not be updated'],
    [
      'spec.taints',
      [{ key: 'k', effect: 'X' }],
      'metadata.taints[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    ['spec.podCIDRs', ['10.0.0.0/24']],
    ['spec.unschedulable', true],
  ];
  checkUpdateRules(t, nodeStrategy, base, rows);
  const plain = created(nodeStrategy, base);
  const withSource = updated(nodeStrategy, withField(base, 'spec.configSource', source), plain) as Node;
  t.equal(withSource.spec.configSource, undefined);
  const stored = copyJson(created(nodeStrategy, base) as Node);
  stored.spec.configSource = source;
  const change = (value: unknown) => changeFailures(nodeStrategy, stored, withField(base, 'spec.configSource', value));
  t.strictSame(change(source), []);
  t.strictSame(change(undefined), []);
  t.strictSame(change({}), [
    'spec.configSource: Invalid value: core.NodeConfigSource{ConfigMap:(*core.ConfigMapNodeConfigSource)(nil)}: exactly one reference subfield must be non-nil',
  ]);
  t.strictSame(change({ configMap: { uid: 'u', resourceVersion: '1' } }), [
    'spec.configSource.configMap.uid: Forbidden: uid must not be set in spec',
    'spec.configSource.configMap.resourceVersion: Forbidden: resourceVersion must not be set in spec',
    'spec.configSource.configMap.namespace: Required value: namespace must be set',
    'spec.configSource.configMap.name: Required value: name must be set',
    'spec.configSource.configMap.kubeletConfigKey: Required value: kubeletConfigKey must be set',
  ]);
  t.end();
});

t.test('status', (t) => {
  const rows: RuleRow[] = [
    ['capacity', { cpu: '-1' }, 'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'],
    ['config', { assigned: source }],
    [
      'addresses',
      [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'ExternalIP', address: '10.0.0.1' },
      ],
    ],
  ];
  checkStatusRules(t, nodeStrategy, { base }, rows);
  const configured = withField(base, 'status', { config: { assigned: used } });
  const more: RuleRow[] = [
    ['config', { assigned: used, active: used, lastKnownGood: used }],
    [
      'config',
      { active: source },
      'status.config.active.configMap.uid: Required value: uid must be set in status',
      'status.config.active.configMap.resourceVersion: Required value: resourceVersion must be set in status',
    ],
    [
      'config',
      { lastKnownGood: {} },
      'status.config.lastKnownGood: Invalid value: core.NodeConfigSource{ConfigMap:(*core.ConfigMapNodeConfigSource)(nil)}: exactly one reference subfield must be non-nil',
    ],
  ];
  checkStatusRules(t, nodeStrategy, { base: configured, status: configured['status'] as Draft }, more);
  t.end();
});

t.test('warnings', (t) => {
  const node = copyJson(created(nodeStrategy, withField(base, 'spec.externalID', 'e')) as Node);
  t.strictSame(nodeStrategy.warnings?.(node, undefined, testContext), []);
  node.spec = { configSource: source };
  t.strictSame(nodeStrategy.warnings?.(node, undefined, testContext), ['spec.configSource: the feature is removed']);
  t.end();
});
