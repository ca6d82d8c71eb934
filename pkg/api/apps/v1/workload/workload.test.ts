import t from 'tap';
import { deploymentStrategy } from '#api/apps/v1/deployment/strategy.js';
import { replicaSetStrategy } from '#api/apps/v1/replicaset/strategy.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy } from '#api/strategy/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  updated,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

const base: Draft = {
  metadata: { name: 'd', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
};
type Row = [string, unknown, ...string[]];

const common: Row[] = [
  ['spec.replicas', -1, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  ['spec.minReadySeconds', -1, 'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
  [
    'spec.selector',
    undefined,
    'spec.selector: Required value',
    'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
  ],
  [
    'spec.selector',
    {},
    'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for deployment',
  ],
  [
    'spec.selector',
    { matchLabels: { app: 'x' } },
    'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
  ],
  [
    'spec.selector',
    { matchExpressions: [{ key: 'app', operator: 'In' }] },
    "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"In", Values:[]string(nil)}}}: invalid label selector',
  ],
  [
    'spec.selector',
    { matchExpressions: [{ key: 'app', operator: 'Exists', values: ['a'] }] },
    "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"Exists", Values:[]string{"a"}}}}: invalid label selector',
  ],
  [
    'spec.selector',
    { matchExpressions: [{ key: 'app', operator: 'Is' }] },
    'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"Is", Values:[]string(nil)}}}: invalid label selector',
  ],
  [
    'spec.template.spec.restartPolicy',
    'Never',
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ],
  [
    'spec.template.spec.activeDeadlineSeconds',
    5,
    'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
  ],
  ['spec.template.spec.containers', [], 'spec.template.spec.containers: Required value'],
  [
    'spec.template.spec.ephemeralContainers',
    [{ name: 'e', image: 'i' }],
    'spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
  ],
];

const r = 'spec.strategy.rollingUpdate';
const deployment: Row[] = [
  ['spec.strategy', { type: 'Recreate' }],
  [
    'spec.strategy',
    { type: 'Recreate', rollingUpdate: {} },
    `${r}: Forbidden: may not be specified when strategy \`type\` is 'Recreate'`,
  ],
  [
    'spec.strategy',
    { type: 'X' },
    'spec.strategy: Unsupported value: {"type":"X"}: supported values: "Recreate", "RollingUpdate"',
  ],
  [
    'spec.strategy',
    { rollingUpdate: { maxUnavailable: 0, maxSurge: 0 } },
    `${r}.maxUnavailable: Invalid value: 0: may not be 0 when \`maxSurge\` is 0`,
  ],
  [
    'spec.strategy',
    { rollingUpdate: { maxUnavailable: '0%', maxSurge: 0 } },
    `${r}.maxUnavailable: Invalid value: "0%": may not be 0 when \`maxSurge\` is 0`,
  ],
  [
    'spec.strategy',
    { rollingUpdate: { maxUnavailable: '101%' } },
    `${r}.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%`,
  ],
  [
    'spec.strategy',
    { rollingUpdate: { maxSurge: 'x' } },
    `${r}.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"x"}: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
  ],
  [
    'spec.strategy',
    { rollingUpdate: { maxSurge: -1 } },
    `${r}.maxSurge: Invalid value: -1: must be greater than or equal to 0`,
  ],
  ['spec.revisionHistoryLimit', -1, 'spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0'],
  [
    'spec.progressDeadlineSeconds',
    0,
    'spec.progressDeadlineSeconds: Invalid value: 0: must be greater than minReadySeconds',
  ],
];

t.test('create', (t) => {
  const kinds: [Strategy, Row[]][] = [
    [replicaSetStrategy, common],
    [deploymentStrategy, [...common, ...deployment]],
  ];
  for (const [strategy, rows] of kinds) {
    t.strictSame(createFailures(strategy, base), []);
    for (const [path, value, ...want] of rows) {
      t.strictSame(createFailures(strategy, withField(base, path, value)), want, `${path} = ${JSON.stringify(value)}`);
    }
  }
  t.end();
});

t.test('defaults', (t) => {
  t.match(created(deploymentStrategy, base), {
    metadata: { generation: 1 },
    spec: {
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      template: { spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30 } },
    },
  });
  const template = (created(deploymentStrategy, base) as unknown as { spec: { template: { spec: object } } }).spec
    .template;
  t.notHas(template.spec, { enableServiceLinks: true }, 'templates get no defaults of pods alone');
  t.match(created(replicaSetStrategy, base), { spec: { replicas: 1 }, status: { replicas: 0 } });
  t.end();
});

t.test('generations', (t) => {
  const old = created(deploymentStrategy, base);
  const generation = (draft: Draft): number | bigint | undefined =>
    updated(deploymentStrategy, draft, old).metadata.generation;
  t.equal(generation(base), 1, 'nothing changes');
  t.equal(generation(withField(base, 'metadata.labels', { a: 'b' })), 1, 'labels do not count');
  t.equal(generation(withField(base, 'metadata.annotations', { a: 'b' })), 2, 'annotations of a deployment count');
  t.equal(generation(withField(base, 'spec.replicas', 5)), 2, 'the spec counts');
  t.equal(generation(withField(base, 'metadata.generation', 9)), 1, 'a generation from the client is ignored');
  t.equal(
    updated(replicaSetStrategy, withField(base, 'metadata.annotations', { a: 'b' }), created(replicaSetStrategy, base))
      .metadata.generation,
    1,
  );
  t.end();
});

t.test('update and status', (t) => {
  const moved = withField(
    withField(base, 'spec.selector', { matchLabels: { app: 'x' } }),
    'spec.template.metadata.labels',
    { app: 'x' },
  );
  for (const strategy of [deploymentStrategy, replicaSetStrategy] as Strategy[]) {
    t.strictSame(updateFailures(strategy, base, moved), [
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"x"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ]);
    t.strictSame(statusFailures(strategy, base, { new: { replicas: 1, readyReplicas: 2 } }), [
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
    ]);
    t.strictSame(statusFailures(strategy, base, { new: { replicas: -1 } }).slice(0, 1), [
      'status.replicas: Invalid value: -1: must be greater than or equal to 0',
    ]);
    t.strictSame(statusFailures(strategy, base, { new: { replicas: 2, readyReplicas: 1, availableReplicas: 2 } }), [
      'status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas',
    ]);
  }
  t.strictSame(statusFailures(deploymentStrategy, base, { old: { collisionCount: 2 }, new: { collisionCount: 1 } }), [
    'status.collisionCount: Invalid value: 1: cannot be decremented',
  ]);
  t.end();
});

t.test('cells', (t) => {
  const cells = (strategy: Strategy, status: object): unknown => {
    const object: ApiObjectShape = created(strategy, withField(base, 'spec.replicas', 3));
    return strategy.cells?.(Object.assign(object, { status }), testContext);
  };
  t.strictSame(cells(deploymentStrategy, { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 }), [
    'd',
    '1/3',
    2,
    1,
    '60m',
    'c',
    'i',
    'app=web',
  ]);
  t.strictSame(cells(replicaSetStrategy, { replicas: 2, readyReplicas: 1 }), [
    'd',
    3,
    2,
    1,
    '60m',
    'c',
    'i',
    'app=web',
  ]);
  t.end();
});
