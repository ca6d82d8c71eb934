/** Disruption budgets, quotas, and autoscalers. */
import {
  create,
  deployment,
  job,
  manifest,
  patch,
  pod,
  pods,
  podTemplate,
  remove,
  replicaSet,
  situation,
  statefulSet,
} from '#test/integration/controllers/peer/manifests.js';
import type { Json, JsonObject, Manifest, Situation } from '#test/integration/controllers/peer/situation.js';

const ready = pods('ready');
const web = { app: 'web' };
const budget = (spec: JsonObject, name = 'b'): Manifest =>
  manifest('policy/v1', 'PodDisruptionBudget', name, { spec: { selector: { matchLabels: web }, ...spec } });

const limits: readonly [name: string, spec: JsonObject][] = [
  ['min-1', { minAvailable: 1 }],
  ['min-3', { minAvailable: 3 }],
  ['min-50p', { minAvailable: '50%' }],
  ['min-100p', { minAvailable: '100%' }],
  ['min-0', { minAvailable: 0 }],
  ['max-1', { maxUnavailable: 1 }],
  ['max-0', { maxUnavailable: 0 }],
  ['max-34p', { maxUnavailable: '34%' }],
];

const budgets: readonly Situation[] = [
  ...limits.map(([name, spec]) =>
    situation(
      `budget/${name}`,
      create(budget(spec)),
      create(deployment('web', { replicas: 3 })),
      ready,
      pods('unready', { first: 1 }),
      patch('Deployment/web', { spec: { replicas: 5 } }),
      ready,
    ),
  ),
  ...limits
    .slice(0, 4)
    .map(([name, spec]) =>
      situation(`budget/plain-pods-${name}`, create(budget(spec), pod('a', web), pod('b', web)), ready),
    ),
  situation('budget/plain-pods-max', create(budget({ maxUnavailable: 1 }), pod('a', web)), ready),
  situation('budget/plain-pods-max-percent', create(budget({ maxUnavailable: '50%' }), pod('a', web)), ready),
  situation(
    'budget/statefulset',
    create(budget({ maxUnavailable: 1 }), statefulSet('web', { replicas: 3, podManagementPolicy: 'Parallel' })),
    ready,
  ),
  situation('budget/replicaset', create(budget({ maxUnavailable: '50%' }), replicaSet('web', { replicas: 3 })), ready),
  situation(
    'budget/two-controllers',
    create(
      budget({ maxUnavailable: '50%' }),
      replicaSet(
        'one',
        { replicas: 2, selector: { matchLabels: { ...web, x: '1' } } },
        podTemplate('web', {}, { x: '1' }),
      ),
      replicaSet(
        'two',
        { replicas: 3, selector: { matchLabels: { ...web, x: '2' } } },
        podTemplate('web', {}, { x: '2' }),
      ),
    ),
    ready,
  ),
  situation(
    'budget/two-budgets',
    create(budget({ minAvailable: 1 }), budget({ minAvailable: 2 }, 'c'), pod('a', web)),
    ready,
  ),
  situation(
    'budget/job',
    create(
      budget({ maxUnavailable: 1 }),
      job('j', {
        parallelism: 2,
        template: {
          metadata: { labels: web },
          spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
        },
      }),
    ),
    ready,
  ),
  situation(
    'budget/job-min',
    create(
      budget({ minAvailable: 1 }),
      job('j', {
        parallelism: 2,
        template: {
          metadata: { labels: web },
          spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
        },
      }),
    ),
    ready,
  ),
  situation(
    'budget/all-pods',
    create(
      manifest('policy/v1', 'PodDisruptionBudget', 'b', { spec: { minAvailable: 1, selector: {} } }),
      pod('a'),
      pod('b', web),
    ),
    ready,
  ),
  situation(
    'budget/no-selector',
    create(manifest('policy/v1', 'PodDisruptionBudget', 'b', { spec: { minAvailable: 1 } }), pod('a')),
    ready,
  ),
  situation(
    'budget/finished-pods',
    create(budget({ minAvailable: 1 }), pod('a', web, { restartPolicy: 'Never' }), pod('b', web)),
    ready,
    pods('succeeded', { named: 'a' }),
  ),
  situation(
    'budget/changed',
    create(budget({ minAvailable: 1 }), pod('a', web), pod('b', web)),
    ready,
    patch('PodDisruptionBudget/b', { spec: { minAvailable: 2 } }),
  ),
  situation(
    'budget/foreign-owner',
    create(
      budget({ maxUnavailable: 1 }),
      pod(
        'a',
        web,
        {},
        {
          ownerReferences: [
            {
              apiVersion: 'example.com/v1',
              kind: 'Thing',
              name: 't',
              uid: '11111111-2222-3333-4444-555555555555',
              controller: true,
            },
          ],
        },
      ),
    ),
    ready,
  ),
];

const quota = (hard: JsonObject, more: JsonObject = {}): Manifest =>
  manifest('v1', 'ResourceQuota', 'q', { spec: { hard, ...more } });
const asking = (cpu: string, memory: string, limits: JsonObject = {}): JsonObject => ({
  containers: [{ name: 'c', image: 'i', resources: { requests: { cpu, memory }, limits } }],
});
const scopes = (scope: string): JsonObject => ({ scopes: [scope] });
const claim = (name: string, storageClassName: string): Manifest =>
  manifest('v1', 'PersistentVolumeClaim', name, {
    spec: { storageClassName, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '3Gi' } } },
  });

const quotas: readonly Situation[] = [
  situation(
    'quota/counts-what-is-there',
    create(pod('a'), pod('b'), manifest('v1', 'ConfigMap', 'm'), manifest('v1', 'Secret', 's')),
    create(
      quota({
        pods: '5',
        configmaps: '10',
        secrets: '10',
        'count/pods': '9',
        services: '3',
        persistentvolumeclaims: '3',
        resourcequotas: '2',
        replicationcontrollers: '1',
      }),
    ),
  ),
  situation(
    'quota/compute',
    create(
      pod('a', {}, asking('100m', '1Mi', { cpu: '1', memory: '1Gi' })),
      pod('b', {}, asking('1.5', '1Gi', { cpu: '2', memory: '1Gi' })),
    ),
    create(
      quota({
        cpu: '4',
        memory: '8Gi',
        'requests.cpu': '4',
        'requests.memory': '8Gi',
        'limits.cpu': '4',
        'limits.memory': '8Gi',
      }),
    ),
    pods('ready'),
  ),
  situation(
    'quota/finished-pods',
    create(pod('a', {}, { restartPolicy: 'Never' }), pod('b')),
    create(quota({ pods: '5', 'count/pods': '5' })),
    ready,
    pods('succeeded', { named: 'a' }),
  ),
  ...['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort'].map((scope) =>
    situation(
      `quota/scope-${scope.toLowerCase()}`,
      create(
        pod('a', {}, { activeDeadlineSeconds: 600 }),
        pod('b'),
        pod('c', {}, asking('1', '1Mi', { cpu: '1', memory: '1Mi' })),
      ),
      create(quota({ pods: '9' }, scopes(scope))),
      ready,
    ),
  ),
  situation(
    'quota/priority-class',
    create(pod('a'), pod('b', {}, { priorityClassName: 'system-node-critical' })),
    create(
      quota(
        { pods: '9' },
        { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'Exists' }] } },
      ),
    ),
    ready,
  ),
  situation(
    'quota/storage',
    create(claim('one', 'gold'), claim('two', 'none')),
    create(
      quota({
        'requests.storage': '100Gi',
        persistentvolumeclaims: '9',
        'gold.storageclass.storage.k8s.io/requests.storage': '50Gi',
        'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '5',
      }),
    ),
  ),
  situation(
    'quota/services',
    create(
      manifest('v1', 'Service', 'a', {
        spec: {
          type: 'NodePort',
          ports: [{ port: 1 }, { name: 'b', port: 2 }].map((port, i) => ({ ...port, name: `p${i}` })),
        },
      }),
      manifest('v1', 'Service', 'b', { spec: { ports: [{ port: 1 }] } }),
    ),
    create(quota({ services: '9', 'services.nodeports': '9', 'services.loadbalancers': '9' })),
  ),
  situation(
    'quota/objects-of-groups',
    create(deployment('web', { replicas: 0 }), job('j', { suspend: true })),
    create(
      quota({
        'count/deployments.apps': '9',
        'count/replicasets.apps': '9',
        'count/jobs.batch': '9',
        'count/nothings.example.com': '1',
      }),
    ),
  ),
  situation(
    'quota/hard-changed',
    create(quota({ pods: '1' }), pod('a')),
    patch('ResourceQuota/q', { spec: { hard: { pods: '3', configmaps: '2' } } }),
    patch('ResourceQuota/q', { spec: { hard: { pods: null } } }),
  ),
  situation(
    'quota/released',
    create(quota({ pods: '2', configmaps: '3' }), pod('a'), pod('b')),
    remove('Pod/a'),
    create(manifest('v1', 'ConfigMap', 'm')),
  ),
  situation(
    'quota/two',
    create(
      quota({ pods: '2' }),
      manifest('v1', 'ResourceQuota', 'r', { spec: { hard: { pods: '5', secrets: '1' } } }),
      pod('a'),
    ),
  ),
  situation(
    'quota/extended',
    create(
      pod('a', {}, { containers: [{ name: 'c', image: 'i', resources: { limits: { 'example.com/gpu': '2' } } }] }),
    ),
    create(quota({ 'requests.example.com/gpu': '4' })),
  ),
  situation(
    'quota/init-containers',
    create(
      pod(
        'a',
        {},
        { initContainers: [{ name: 'x', image: 'i', resources: { requests: { cpu: '3' } } }], ...asking('1', '1Mi') },
      ),
    ),
    create(quota({ 'requests.cpu': '9' })),
  ),
  situation(
    'quota/overhead-of-status',
    create(quota({ pods: '3' })),
    patch('ResourceQuota/q', { status: { used: { pods: '2' } } }, { subresource: 'status' }),
  ),
];

const scaler = (
  spec: JsonObject,
  target: JsonObject = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
): Manifest =>
  manifest('autoscaling/v2', 'HorizontalPodAutoscaler', 'h', {
    spec: { maxReplicas: 3, scaleTargetRef: target, ...spec },
  });
const cpu: Json = [
  { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
];

const scalers: readonly Situation[] = [
  situation(
    'autoscaler/below-minimum',
    create(deployment('web', { replicas: 1 })),
    ready,
    create(scaler({ minReplicas: 2 })),
    ready,
  ),
  situation(
    'autoscaler/above-maximum',
    create(deployment('web', { replicas: 5 })),
    ready,
    create(scaler({ minReplicas: 1 })),
  ),
  situation('autoscaler/disabled', create(deployment('web', { replicas: 0 })), create(scaler({ minReplicas: 1 }))),
  situation(
    'autoscaler/no-metrics',
    create(deployment('web', { replicas: 2 })),
    ready,
    create(scaler({ metrics: cpu })),
  ),
  situation('autoscaler/no-target', create(scaler({ metrics: cpu }))),
  situation(
    'autoscaler/unknown-kind',
    create(scaler({ metrics: cpu }, { apiVersion: 'example.com/v1', kind: 'Thing', name: 'web' })),
  ),
  situation(
    'autoscaler/statefulset',
    create(statefulSet('web', { replicas: 1, podManagementPolicy: 'Parallel' })),
    ready,
    create(scaler({ minReplicas: 2 }, { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web' })),
  ),
  situation(
    'autoscaler/external',
    create(deployment('web', { replicas: 1 })),
    ready,
    create(
      scaler({
        metrics: [{ type: 'External', external: { metric: { name: 'queue' }, target: { type: 'Value', value: '3' } } }],
      }),
    ),
  ),
  situation(
    'autoscaler/pods-metric',
    create(deployment('web', { replicas: 1 })),
    ready,
    create(
      scaler({
        metrics: [
          { type: 'Pods', pods: { metric: { name: 'rate' }, target: { type: 'AverageValue', averageValue: '3' } } },
        ],
      }),
    ),
  ),
];

export const policies: readonly Situation[] = [...budgets, ...quotas, ...scalers];
