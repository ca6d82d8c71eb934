import t from 'tap';
import { podTemplateWarnings, podWarnings } from '#api/core/v1/pod/warnings.js';
import { persistentvolumeclaims, persistentvolumes, services } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { ingresses } from '#api/networking/v1/resources.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import { csistoragecapacities, storageclasses } from '#api/storage/v1/resources.gen.js';
import { strategyFor } from '#api/strategies.js';
import { created, type Draft, testContext, withField } from '#api/testing/strategy-table.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';

const base: Draft = { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const term = (key: string) => ({ matchExpressions: [{ key, operator: 'Exists' }] });
const required = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution';
const seccomp = 'deprecated since v1.19; use the "seccompProfile" field instead';

/** A field of a pod and the expected warning without the field's path. */
const rows: [path: string, value: unknown, warning: string][] = [
  [
    'spec.nodeSelector',
    { 'beta.orch.io/arch': 'a' },
    '[beta.orch.io/arch]: deprecated since v1.14; use "orch.io/arch" instead',
  ],
  [
    'spec.nodeSelector',
    { 'beta.orch.io/os': 'a' },
    '[beta.orch.io/os]: deprecated since v1.14; use "orch.io/os" instead',
  ],
  [
    'spec.nodeSelector',
    { 'failure-domain.beta.orch.io/zone': 'z' },
    '[failure-domain.beta.orch.io/zone]: deprecated since v1.17; use "topology.orch.io/zone" instead',
  ],
  [
    'spec.nodeSelector',
    { 'beta.orch.io/instance-type': 'z' },
    '[beta.orch.io/instance-type]: deprecated since v1.17; use "node.orch.io/instance-type" instead',
  ],
  [
    required,
    { nodeSelectorTerms: [term('beta.orch.io/os')] },
    '.nodeSelectorTerms[0].matchExpressions[0].key: beta.orch.io/os is deprecated since v1.14; use "orch.io/os" instead',
  ],
  [
    preferred,
    [{ weight: 1, preference: term('beta.orch.io/os') }],
    '[0].preference.matchExpressions[0].key: beta.orch.io/os is deprecated since v1.14; use "orch.io/os" instead',
  ],
  [
    'spec.topologySpreadConstraints',
    [{ topologyKey: 'failure-domain.beta.orch.io/region' }],
    '[0].topologyKey: failure-domain.beta.orch.io/region is deprecated since v1.17; use "topology.orch.io/region" instead',
  ],
  [
    'metadata.annotations',
    { 'seccomp.security.alpha.orch.io/pod': 'x' },
    `[seccomp.security.alpha.orch.io/pod]: ${seccomp}`,
  ],
  [
    'metadata.annotations',
    { 'container.seccomp.security.alpha.orch.io/c': 'x' },
    `[container.seccomp.security.alpha.orch.io/c]: ${seccomp}`,
  ],
  [
    'metadata.annotations',
    { 'scheduler.alpha.orch.io/critical-pod': '' },
    '[scheduler.alpha.orch.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  ['spec.volumes', [{ name: 'v', gitRepo: {} }], '[0].gitRepo: deprecated in v1.11'],
  ['spec.volumes', [{ name: 'v', scaleIO: {} }], '[0].scaleIO: deprecated in v1.16, non-functional in v1.22+'],
  [
    'spec.volumes',
    [{ name: 'v', storageos: {} }],
    '[0].storageOS: deprecated in v1.22, support removal is planned in v1.26',
  ],
  ['spec.imagePullSecrets', [{}], '[0].name: invalid empty name ""'],
  ['spec.terminationGracePeriodSeconds', -1, ': must be >= 0; negative values are invalid and will be treated as 1'],
  [
    'spec.overhead',
    { 'ephemeral-storage': '1500m' },
    '[ephemeral-storage]: fractional byte value "1500m" is invalid, must be an integer',
  ],
];

t.test('pods and templates', (t) => {
  t.strictSame(podWarnings(base as unknown as Pod, orchDialect), []);
  const containers: typeof rows = [
    ['env', [{ name: 'A' }, { name: 'A' }], '[1].name: duplicate name "A"'],
    [
      'resources',
      { limits: { memory: '100m' } },
      '.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
    ],
  ];
  const all = [
    ...rows.map(([path, value, warning]) => ({ pod: withField(base, path, value), warning: path + warning })),
    ...containers.map(([path, value, warning]) => ({
      pod: withField(base, `spec.containers.0.${path}`, value),
      warning: `spec.containers[0].${path}${warning}`,
    })),
  ];
  for (const { pod, warning } of all) {
    const typed = pod as unknown as Pod;
    t.strictSame(podWarnings(typed, orchDialect), [warning]);
    t.strictSame(podTemplateWarnings(typed, undefined, orchDialect), [`spec.template.${warning}`]);
    t.strictSame(podTemplateWarnings(typed, typed, orchDialect), [], 'one warning only');
    t.strictSame(podTemplateWarnings(typed, base as unknown as Pod, orchDialect), [`spec.template.${warning}`]);
  }
  const other = withField(base, 'spec.nodeSelector', { 'beta.kubernetes.io/os': 'linux' }) as unknown as Pod;
  t.strictSame(podWarnings(other, orchDialect), []);
  t.match(podWarnings(other, kubernetesDialect), [/use "kubernetes.io\/os" instead/]);
  t.end();
});

t.test('kinds without warnings in 1.24', (t) => {
  const of = (resource: Parameters<typeof strategyFor>[0], draft: Draft): string[] => {
    const strategy = strategyFor(resource);
    return strategy.warnings?.(created(strategy, { metadata: { name: 'a' }, ...draft }), undefined, testContext) ?? [];
  };
  const nodeSelector = { 'beta.orch.io/os': '' };
  t.strictSame(of(runtimeclasses, { handler: 'h', scheduling: { nodeSelector } }), []);
  t.strictSame(of(csistoragecapacities, { nodeTopology: { matchLabels: nodeSelector } }), []);
  const topology = [{ matchLabelExpressions: [{ key: 'beta.orch.io/os', values: [] }] }];
  t.strictSame(of(storageclasses, { allowedTopologies: topology }), []);
  t.strictSame(of(services, { spec: { clusterIP: 'None', sessionAffinity: 'ClientIP' } }), []);
  const annotations = { 'orch.io/ingress.class': 'x', 'volume.beta.orch.io/storage-class': 'y' };
  t.strictSame(of(ingresses, { metadata: { name: 'a', annotations }, spec: {} }), []);
  t.strictSame(of(persistentvolumeclaims, { metadata: { name: 'a', annotations }, spec: {} }), []);
  t.strictSame(of(persistentvolumes, { metadata: { name: 'a', annotations }, spec: {} }), []);
  t.end();
});
