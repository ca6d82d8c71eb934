/** Malformed merge, strategic and apply patches, and patches with an invalid result. */
import type { Case, Step } from '#test/integration/apiserver/recorded/step.js';

const pods = '/api/v1/namespaces/default/pods';
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const configmaps = '/api/v1/namespaces/default/configmaps';

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'd' },
  spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }] },
};

const inSpec = (spec: unknown) => ({ spec });
const containers = (...list: readonly unknown[]) => inSpec({ containers: list });
const inMetadata = (metadata: unknown) => ({ metadata });

/** As values, or as texts if they are not JSON. */
const bodies: readonly unknown[] = [
  [],
  '"x"',
  5,
  [1],
  true,
  inMetadata([]),
  inMetadata('x'),
  inSpec('x'),
  ...['many', 1.5, true].map((priority) => inSpec({ priority })),
  ...['x', 1].map((hostNetwork) => inSpec({ hostNetwork })),
  inSpec({ activeDeadlineSeconds: '5' }),
  inSpec({ containers: 'x' }),
  inSpec({ containers: { a: 1 } }),
  containers({ name: 5, image: 'x' }),
  containers({ name: 'c', resources: { limits: { cpu: 'x' } } }),
  containers({ name: 'c', livenessProbe: { httpGet: { port: true } } }),
  inMetadata({ labels: { a: 5 } }),
  inMetadata({ labels: ['a'] }),
  inMetadata({ finalizers: ['x', 5] }),
  inMetadata({ finalizers: 'x' }),
  inMetadata({ finalizers: [['x']] }),
  inMetadata({ creationTimestamp: 'x' }),
  inMetadata({ creationTimestamp: 5 }),
  inMetadata({ generation: 'x' }),
  inMetadata({ ownerReferences: 'x' }),
  inMetadata({ name: 'other' }),
  inMetadata({ name: '' }),
  inMetadata({ namespace: 'other' }),
  inMetadata({ name: 'other', namespace: 'other' }),
  inMetadata({ resourceVersion: '1' }),
];

const strategic: readonly unknown[] = [
  ...bodies,
  { kind: 'Foo', metadata: { name: 'other' } },
  { apiVersion: 'v2', metadata: { name: 'other' } },
  containers({ image: 'x' }),
  containers(5),
  containers([1]),
  containers({ name: 'c', ports: [{ protocol: 'TCP' }] }),
  containers({ name: 'c', $patch: 'x' }),
  containers({ $patch: 'delete' }),
  containers({ $patch: 'merge' }),
  { $patch: 'x' },
  { $patch: 5 },
  inSpec({ $patch: 'x' }),
  inSpec({ $retainKeys: 'x' }),
  inSpec({ $retainKeys: ['hostname'], subdomain: 'x' }),
  inMetadata({ '$setElementOrder/finalizers': 'x' }),
  inSpec({ '$setElementOrder/containers': [{ name: 'z' }], containers: [{ name: 'c' }] }),
  inSpec({ '$setElementOrder/containers': [{ image: 'z' }] }),
];

const applied: readonly string[] = [
  '[]',
  'abc',
  'null',
  '{"data":{"a":5}}',
  'apiVersion: v2\nkind: ConfigMap\nmetadata:\n  name: m',
  'apiVersion: 5\nkind: ConfigMap\nmetadata:\n  name: m',
  'apiVersion: v1\nkind: ConfigMap',
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other',
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n  namespace: other',
];

function patched(path: string, type: string, body: unknown): Step {
  return { method: 'PATCH', path: `${path}?dryRun=All&fieldManager=z`, contentType: `application/${type}`, body };
}

export const malformedPatches: Case = {
  name: 'malformed-patches',
  steps: [
    { method: 'POST', path: pods, body: pod, until: '"d"' },
    { method: 'POST', path: accounts, body: { metadata: { name: 's', labels: { a: 'b' } } } },
    { method: 'POST', path: configmaps, body: { metadata: { name: 'm' }, data: { a: '1' } } },
    ...bodies.map((body) => patched(`${pods}/d`, 'merge-patch+json', body)),
    ...strategic.map((body) => patched(`${pods}/d`, 'strategic-merge-patch+json', body)),
    ...applied.map((body) => patched(`${configmaps}/m`, 'apply-patch+yaml', body)),
    // Without a counterpart the value is taken unchanged.
    patched(`${accounts}/s`, 'strategic-merge-patch+json', { secrets: [{ $patch: 'delete', name: 'v' }] }),
    ...['merge-patch+json', 'strategic-merge-patch+json'].flatMap((type) =>
      ['null', { kind: null }].map((body) => patched(`${configmaps}/m`, type, body)),
    ),
  ],
};
