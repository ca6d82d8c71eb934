import t from 'tap';
import { daemonSetStrategy } from '#api/apps/v1/daemonset/strategy.js';
import { statefulSetStrategy } from '#api/apps/v1/statefulset/strategy.js';
import { replicationControllerStrategy } from '#api/core/v1/replicationcontroller/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updated,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

type Row = [string, unknown, ...string[]];
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const base: Draft = {
  metadata: { name: 's', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' },
  spec: { selector: { matchLabels: { app: 'web' } }, template },
};

t.test('daemon sets', (t) => {
  const r = 'spec.updateStrategy.rollingUpdate';
  const rows: Row[] = [
    [
      'spec.selector',
      {},
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for daemonset',
    ],
    [
      'spec.template.spec.restartPolicy',
      'Never',
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ],
    ['spec.updateStrategy', { type: 'OnDelete' }],
    [
      'spec.updateStrategy',
      { type: 'X' },
      'spec.updateStrategy: Unsupported value: {"type":"X"}: supported values: "RollingUpdate", "OnDelete"',
    ],
    [
      'spec.updateStrategy',
      { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } },
      `${r}.maxSurge: Invalid value: intstr.IntOrString{Type:0, IntVal:1, StrVal:""}: may not be set when maxUnavailable is non-zero`,
    ],
    [
      'spec.updateStrategy',
      { rollingUpdate: { maxUnavailable: 0 } },
      `${r}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
    ],
  ];
  t.strictSame(createFailures(daemonSetStrategy, base), []);
  for (const [path, value, ...want] of rows)
    t.strictSame(createFailures(daemonSetStrategy, withField(base, path, value)), want, path);
  const old = created(daemonSetStrategy, base);
  const generation = 'deprecated.daemonset.template.generation';
  t.match(old, {
    metadata: { generation: 1, annotations: { [generation]: '1' } },
    spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } } },
  });
  t.match(updated(daemonSetStrategy, withField(base, 'spec.template.spec.containers.0.image', 'j'), old).metadata, {
    generation: 2,
    annotations: { [generation]: '2' },
  });
  t.match(updated(daemonSetStrategy, withField(base, 'spec.minReadySeconds', 5), old).metadata, {
    generation: 2,
    annotations: { [generation]: '1' },
  });
  t.strictSame(daemonSetStrategy.cells?.(old as never, testContext), [
    's',
    0,
    0,
    0,
    0,
    0,
    '<none>',
    '60m',
    'c',
    'i',
    'app=web',
  ]);
  t.end();
});

t.test('stateful sets', (t) => {
  const rows: Row[] = [
    [
      'spec.podManagementPolicy',
      'X',
      "spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'",
    ],
    ['spec.updateStrategy', { type: 'OnDelete' }],
    [
      'spec.updateStrategy',
      { type: 'OnDelete', rollingUpdate: {} },
      "spec.updateStrategy.rollingUpdate: Invalid value: apps.RollingUpdateStatefulSetStrategy{Partition:0, MaxUnavailable:(*intstr.IntOrString)(nil)}: only allowed for updateStrategy 'RollingUpdate'",
    ],
    [
      'spec.updateStrategy',
      { rollingUpdate: { partition: -1 } },
      'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['spec.replicas', -1, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  ];
  t.strictSame(createFailures(statefulSetStrategy, base), []);
  for (const [path, value, ...want] of rows)
    t.strictSame(createFailures(statefulSetStrategy, withField(base, path, value)), want, path);
  const claimed = withField(
    withField(base, 'spec.volumeClaimTemplates', [
      { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } },
    ]),
    'spec.template.spec.containers.0.volumeMounts',
    [{ name: 'data', mountPath: '/data' }],
  );
  t.strictSame(createFailures(statefulSetStrategy, claimed), [], 'claims from templates may be mounted');
  const text =
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  t.strictSame(updateFailures(statefulSetStrategy, base, withField(base, 'spec.serviceName', 'x')), [text]);
  t.strictSame(updateFailures(statefulSetStrategy, base, withField(base, 'spec.replicas', 5)), []);
  t.strictSame(statefulSetStrategy.cells?.(created(statefulSetStrategy, base) as never, testContext), [
    's',
    '0/1',
    '60m',
    'c',
    'i',
  ]);
  t.end();
});

t.test('replication controllers', (t) => {
  const plain = withField(base, 'spec', { template });
  t.match(created(replicationControllerStrategy, plain), {
    metadata: { labels: { app: 'web' } },
    spec: { selector: { app: 'web' }, replicas: 1 },
  });
  t.strictSame(createFailures(replicationControllerStrategy, plain), []);
  t.strictSame(createFailures(replicationControllerStrategy, withField(plain, 'spec.selector', { app: 'x' })), [
    'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
  ]);
  t.strictSame(createFailures(replicationControllerStrategy, withField(plain, 'spec', {})), [
    'spec.selector: Required value',
    'spec.template: Required value',
  ]);
  t.end();
});
