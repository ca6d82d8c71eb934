/** Inputs for the client-side validation of kubectl 1.24; its messages are in `recorded.json`. */
const pod = (spec: unknown, metadata: unknown = { name: 'a' }, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata,
  spec,
  ...more,
});

const container = { name: 'c', image: 'i' };
const containers = [container];
const deployment = (spec: object): object => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: {}, spec });
const selector = { matchLabels: { a: 'b' } };
const template = { metadata: { labels: { a: 'b' } }, spec: { containers } };

export const objects: readonly object[] = [
  pod({ containers }),
  pod({ containers, odd: 1 }),
  pod({ containers, odd: null }),
  pod({ containers, odd: 1, other: 2 }, { name: 'a', odd: true }, { zodd: 1, statuss: {} }),
  pod({ containers: [{ ...container, imagePullPolicey: 'x', ports: [{ containerport: 80 }] }] }),
  pod({ containers: [{ ...container, ports: [{ containerPort: '80' }, { containerPort: 80.5 }, {}] }] }),
  pod({ containers: [{ ...container, command: 'sh' }] }),
  pod({ containers: [{ ...container, command: [1, true, 1.5, null, ['a'], {}] }] }),
  pod({ containers: container }),
  pod({ containers: 'c' }),
  pod({ containers: [null] }),
  pod({ containers: [container, 'x'] }),
  pod({}),
  pod({ containers: null }),
  pod(null),
  pod('x'),
  pod([]),
  { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } },
  pod({ containers, hostNetwork: 'true', terminationGracePeriodSeconds: true, nodeSelector: { a: 1, b: {}, c: [] } }),
  pod({ containers, nodeSelector: [] }),
  pod({ containers, nodeSelector: { a: null } }),
  pod({ containers: [{ ...container, resources: { limits: { cpu: 1, memory: '1Gi', gpu: {} }, limit: {} } }] }),
  pod({ containers: [{ ...container, livenessProbe: { httpGet: { port: 80 }, tcpSocket: { port: 'x' } } }] }),
  pod({ containers: [{ ...container, livenessProbe: { httpGet: { port: {} }, tcpSocket: {} } }] }),
  pod({ containers, volumes: [{ name: 'v', hostpath: { path: '/' } }, { hostPath: {} }] }),
  pod({ containers }, { name: 1, labels: { a: 1 }, annotations: [], creationTimestamp: null, ownerReferences: [{}] }),
  pod({ containers }, { managedFields: [{ fieldsV1: { 'f:x': {} }, fieldsV2: {} }] }),
  pod({ containers, activeDeadlineSeconds: 9007199254740993n }),
  deployment({ selector, template }),
  deployment({ selector, template, replicas: '2', stratergy: {} }),
  deployment({ template: { spec: { containers: [{ image: 'i' }] } } }),
  deployment({
    selector: 'a=b',
    template,
    strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 1, max: 2 } },
  }),
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: 1, b: {} }, datas: {} },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data: { a: 5 }, stringData: 'x', type: {} },
  { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: { ports: [{ targetPort: 'x' }], selectors: {} } },
  { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'a' }, spec: { template: { spec: {} }, completions: 'x' } },
  { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: {}, spec: { rules: [{ http: { paths: [{}] } }] } },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: {}, rules: [{ verb: ['get'] }] },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    spec: { versions: [{ schema: { openAPIV3Schema: { typ: 'x', properties: { a: { odd: 1 } } } } }] },
  },
  { apiVersion: 'nix.example/v1', kind: 'Nix', anything: [{}] },
];
