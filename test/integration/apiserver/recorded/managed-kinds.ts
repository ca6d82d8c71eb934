/**
 * Field managers of objects of many kinds: the writer owns the request's fields, and no manager owns those that admission,
 * preparation and allocation add.
 */
import { applied, defined, definition, merged, type Step } from '#test/integration/apiserver/recorded/step.js';

const namespace = 'owned-by';
const inNamespace = `namespaces/${namespace}`;
const parts = [['message'], ['details', 'causes'], ['metadata', 'managedFields']];

interface Kind {
  /** Path of the collection. */
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Without version, kind and metadata. */
  readonly content: object;
  readonly changed: object;
  /** The configuration applied by another manager. */
  readonly applied: object;
  readonly status?: object;
  readonly hasScale?: boolean;
  /** A created object can be put again. */
  readonly isPut?: false;
}

const containers = [
  {
    name: 'main',
    image: 'a',
    ports: [{ containerPort: 80 }],
    env: [{ name: 'A', value: '1' }],
    resources: { limits: { cpu: '1' } },
    livenessProbe: { httpGet: { path: '/', port: 80 } },
  },
];
const template = { metadata: { labels: { app: 'a' } }, spec: { containers } };
const selector = { matchLabels: { app: 'a' } };
const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' };
const job = { template: { spec: { restartPolicy: 'Never', containers } } };
const condition = { type: 'A', status: 'True', reason: 'R', message: 'm' };

const kinds: readonly Kind[] = [
  {
    path: `/api/v1/${inNamespace}/pods`,
    apiVersion: 'v1',
    kind: 'Pod',
    content: { spec: { containers, volumes: [{ name: 'v', emptyDir: {} }], imagePullSecrets: [{ name: 's' }] } },
    changed: { spec: { activeDeadlineSeconds: 100 } },
    applied: { spec: { tolerations: [{ key: 'k', operator: 'Exists' }], containers: [{ name: 'main', image: 'b' }] } },
    status: { conditions: [condition], phase: 'Running', hostIP: '10.0.0.1' },
  },
  {
    path: `/apis/apps/v1/${inNamespace}/deployments`,
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    content: { spec: { selector, template, replicas: 2 } },
    changed: { spec: { minReadySeconds: 3 } },
    applied: { spec: { replicas: 2, template: { metadata: { annotations: { a: 'b' } } } } },
    status: { replicas: 1, conditions: [condition] },
    hasScale: true,
  },
  {
    path: `/apis/apps/v1/${inNamespace}/daemonsets`,
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    content: { spec: { selector, template } },
    changed: { spec: { template: { spec: { priority: 0 } } } },
    applied: { spec: { revisionHistoryLimit: 3 } },
    status: { numberReady: 1 },
  },
  {
    path: `/apis/apps/v1/${inNamespace}/statefulsets`,
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    content: {
      spec: {
        ...{ selector, template, serviceName: 's' },
        volumeClaimTemplates: [
          {
            metadata: { name: 'c' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    },
    changed: { spec: { replicas: 3 } },
    applied: { spec: { replicas: 4 } },
    status: { replicas: 1 },
    hasScale: true,
  },
  {
    path: `/api/v1/${inNamespace}/services`,
    apiVersion: 'v1',
    kind: 'Service',
    content: { spec: { selector: { app: 'a' }, ports: [{ port: 80 }] } },
    changed: { spec: { type: 'NodePort' } },
    applied: {
      spec: {
        ports: [
          { port: 443, protocol: 'TCP', name: 's' },
          { port: 80, protocol: 'TCP', name: 'p' },
        ],
      },
    },
    status: { conditions: [condition], loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } },
  },
  {
    path: '/api/v1/namespaces',
    apiVersion: 'v1',
    kind: 'Namespace',
    content: {},
    changed: { metadata: { labels: { c: 'd' } } },
    applied: { metadata: { annotations: { a: 'b' } } },
    status: { conditions: [condition] },
  },
  {
    path: '/api/v1/nodes',
    apiVersion: 'v1',
    kind: 'Node',
    content: { spec: { taints: [{ key: 't', effect: 'NoSchedule' }], podCIDR: '10.9.0.0/24' } },
    changed: { spec: { unschedulable: true } },
    applied: { metadata: { labels: { a: 'b' } }, spec: { providerID: 'p' } },
    status: { capacity: { cpu: '1' }, conditions: [condition], nodeInfo: { machineID: 'm' } },
  },
  {
    path: `/api/v1/${inNamespace}/persistentvolumeclaims`,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    content: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    changed: { metadata: { annotations: { c: 'd' } } },
    applied: { spec: { resources: { requests: { storage: '1Gi' } } } },
    status: { phase: 'Pending', capacity: { storage: '1Gi' } },
  },
  {
    path: `/apis/networking.k8s.io/v1/${inNamespace}/ingresses`,
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    content: { spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } } },
    changed: { spec: { ingressClassName: 'c' } },
    applied: { spec: { rules: [{ host: 'a.example.com' }] } },
    status: { loadBalancer: { ingress: [{ hostname: 'a.example.com' }] } },
  },
  {
    path: `/apis/batch/v1/${inNamespace}/cronjobs`,
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    content: { spec: { schedule: '* * * * *', jobTemplate: { spec: job } } },
    changed: { spec: { suspend: true } },
    applied: { spec: { timeZone: null, startingDeadlineSeconds: 100 } },
    status: { lastScheduleTime: '2024-05-01T10:00:00Z' },
  },
  {
    path: `/apis/batch/v1/${inNamespace}/jobs`,
    apiVersion: 'batch/v1',
    kind: 'Job',
    content: { spec: job },
    changed: { spec: { parallelism: 2 } },
    applied: { spec: { backoffLimit: 3 } },
    status: { active: 1 },
    isPut: false,
  },
  {
    path: `/apis/autoscaling/v2/${inNamespace}/horizontalpodautoscalers`,
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    content: { spec: { scaleTargetRef: target, maxReplicas: 3 } },
    changed: { spec: { minReplicas: 2 } },
    applied: { spec: { scaleTargetRef: { name: 'd', kind: 'Deployment' }, maxReplicas: 3 } },
    status: { currentReplicas: 1, desiredReplicas: 1, conditions: [condition] },
  },
  {
    path: `/api/v1/${inNamespace}/events`,
    apiVersion: 'v1',
    kind: 'Event',
    content: { involvedObject: { kind: 'Pod', name: 'p', namespace }, reason: 'R', source: { component: 'c' } },
    changed: { count: 2 },
    applied: { lastTimestamp: '2024-05-01T10:00:00Z' },
  },
  {
    path: `/apis/managed.example.com/v1/${inNamespace}/things`,
    apiVersion: 'managed.example.com/v1',
    kind: 'Thing',
    content: { spec: { a: '1', list: [{ name: 'x', value: 1 }] } },
    changed: { spec: { b: '2' } },
    applied: {
      spec: {
        list: [
          { name: 'y', value: 2 },
          { name: 'x', value: 1 },
        ],
        free: { deep: { er: 1 } },
      },
    },
    status: { ready: true },
    hasScale: true,
  },
];

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        a: { type: 'string' },
        b: { type: 'string' },
        size: { type: 'string', default: 'small' },
        replicas: { type: 'integer', default: 1 },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        list: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string' },
              value: { type: 'integer' },
              more: { type: 'string', default: 'm' },
            },
          },
        },
      },
    },
    status: { type: 'object', properties: { ready: { type: 'boolean' }, replicas: { type: 'integer' } } },
  },
};
const things = definition('managed.example.com', 'things', 'Thing', [
  {
    schema,
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  },
]);

function managed(given: Step): Step {
  return { ...given, parts };
}

function stepsOf({ path, apiVersion, kind, content, changed, status, ...others }: Kind): Step[] {
  const { applied: other, hasScale, isPut = true } = others;
  const type = { apiVersion, kind };
  const name = 'owned-object';
  const one = `${path}/${name}`;
  const body = { ...type, metadata: { name, labels: { l: '1' } }, ...content };
  const patched = { ...type, ...other, metadata: { name, ...(other as { metadata?: object }).metadata } };
  return [
    managed({ method: 'POST', path: `${path}?fieldManager=creator&dryRun=All`, body }),
    managed({ method: 'POST', path: `${path}?fieldManager=creator`, body: { ...body, ...(status && { status }) } }),
    managed(merged(one, 'changer', changed)),
    managed(merged(one, 'again', changed)),
    managed(applied(one, 'applier', patched)),
    managed(applied(one, 'applier', patched, true)),
    ...(status === undefined ? [] : [managed(merged(`${one}/status`, 'stater', { status, ...changed }))]),
    ...(hasScale === true ? [managed(merged(`${one}/scale`, 'scaler', { spec: { replicas: 5 } }))] : []),
    managed({ method: 'GET', path: one }),
    managed(applied(one, 'applier', { ...type, metadata: { name } })),
    ...(isPut ? [managed({ method: 'PUT', path: `${one}?fieldManager=putter`, body })] : []),
    managed(merged(one, 'resetter', { metadata: { managedFields: null } })),
    managed(merged(one, 'resetter', { metadata: { managedFields: [{}] } })),
    managed(merged(one, 'resetter', { metadata: { labels: { x: 'y' } } })),
    managed(applied(one, 'first', patched, true)),
  ];
}

/** More updaters than the limit, in two versions. Those of one second are sorted by name. */
const scalers = `${inNamespace}/horizontalpodautoscalers`;
const manyUpdaters: readonly Step[] = [
  managed({
    method: 'POST',
    path: `/apis/autoscaling/v2/${scalers}?fieldManager=m00`,
    body: {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'many' },
      spec: { scaleTargetRef: target, maxReplicas: 3 },
    },
  }),
  ...Array.from({ length: 12 }, (_, i) => {
    const path = `/apis/autoscaling/${i % 3 === 0 ? 'v1' : 'v2'}/${scalers}/many`;
    return managed(merged(path, `m${String(i + 1).padStart(2, '0')}`, { metadata: { labels: { [`k${i}`]: 'v' } } }));
  }),
];

export const managedKinds: readonly Step[] = [
  { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } }, parts: [['status', 'phase']] },
  ...defined('managed.example.com', 'things', things),
  ...kinds.flatMap(stepsOf),
  ...manyUpdaters,
];
