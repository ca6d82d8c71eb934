import type { PrintedSamples } from '#test/integration/apiserver/peer/samples/sample.js';

const long = '2020-01-01T00:00:00Z';
const containers = [
  { name: 'a', image: 'example/a' },
  { name: 'b', image: 'example/b' },
];
const template = { metadata: { labels: { app: 'a', tier: 'b' } }, spec: { containers } };
const selector = {
  matchLabels: { app: 'a' },
  matchExpressions: [
    { key: 'tier', operator: 'In', values: ['c', 'b'] },
    { key: 'gone', operator: 'DoesNotExist' },
  ],
};
const counts = { replicas: 3, readyReplicas: 2, availableReplicas: 1 };
const job = (spec: object, status: object = {}) => ({
  spec: { template: { spec: { restartPolicy: 'Never', containers } }, ...spec },
  status,
});
const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'example' };
const resource = (name: string, more: object) => ({ type: 'Resource', resource: { name, ...more } });
const metric = { name: 'requests' };
const described = { kind: 'Service', name: 'main', apiVersion: 'v1' };
const metrics = {
  average: {
    type: 'Object',
    object: { metric, describedObject: described, target: { type: 'AverageValue', averageValue: '20' } },
  },
  object: { type: 'Object', object: { metric, describedObject: described, target: { type: 'Value', value: '20k' } } },
  external: { type: 'External', external: { metric, target: { type: 'Value', value: '30' } } },
  externalAverage: { type: 'External', external: { metric, target: { type: 'AverageValue', averageValue: '1500m' } } },
  pods: { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '10' } } },
  cpu: resource('cpu', { target: { type: 'Utilization', averageUtilization: 70 } }),
  memory: resource('memory', { target: { type: 'AverageValue', averageValue: '100Mi' } }),
};
const scaled = (list: readonly object[], currentMetrics: readonly object[]) => ({
  spec: { scaleTargetRef: target, maxReplicas: 7, metrics: list },
  status: { currentReplicas: 3, desiredReplicas: 4, currentMetrics },
});
const autoscalers: PrintedSamples = {
  'with metrics': scaled(
    [metrics.cpu, metrics.memory],
    [
      resource('cpu', { current: { averageUtilization: 35, averageValue: '350m' } }),
      resource('memory', { current: { averageValue: '50Mi' } }),
    ],
  ),
  'with many metrics': scaled(
    [metrics.object, metrics.average, metrics.external, metrics.externalAverage, metrics.pods],
    [
      { type: 'Object', object: { metric, describedObject: described, current: { value: '15' } } },
      { type: 'Object', object: { metric, describedObject: described, current: { averageValue: '5' } } },
    ],
  ),
  'with external metrics': scaled(
    [metrics.external, metrics.externalAverage],
    [{ type: 'External', external: { metric, current: { value: '12' } } }],
  ),
  'of pods': scaled([metrics.pods], [{ type: 'Pods', pods: { metric, current: { averageValue: '2500m' } } }]),
  'without numbers': scaled([metrics.memory, metrics.pods], []),
};

export const printedWorkloads: Readonly<Record<string, PrintedSamples>> = {
  'apps.deployments': {
    ready: { spec: { replicas: 4, selector, template }, status: { ...counts, updatedReplicas: 2 } },
    none: { spec: { replicas: 0, selector, template } },
  },
  'apps.replicasets': { ready: { spec: { replicas: 4, selector, template }, status: counts } },
  'apps.statefulsets': {
    ready: { spec: { replicas: 4, selector, template, serviceName: 'a' }, status: counts },
  },
  'apps.daemonsets': {
    ready: {
      spec: {
        selector,
        template: { ...template, spec: { containers, nodeSelector: { zone: 'a', disk: 'fast' } } },
      },
      status: {
        currentNumberScheduled: 5,
        numberMisscheduled: 1,
        desiredNumberScheduled: 6,
        numberReady: 4,
        updatedNumberScheduled: 3,
        numberAvailable: 2,
      },
    },
  },
  'apps.controllerrevisions': {
    owned: {
      metadata: {
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a', uid: 'u' },
          { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'b', uid: 'v', controller: true },
        ],
      },
      revision: 7,
    },
    'owned by another group': {
      metadata: {
        ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Odd', name: 'b', uid: 'v', controller: true }],
      },
    },
  },
  'batch.jobs': {
    completed: job({ completions: 2 }, { startTime: long, completionTime: '2020-01-01T01:02:03Z', succeeded: 2 }),
    started: job({ completions: 3, parallelism: 2 }, { startTime: long, active: 2, succeeded: 1 }),
    'of a queue': job({ parallelism: 3 }, { startTime: long, succeeded: 1 }),
    'of a queue of one': job({ parallelism: 1 }),
    'short one': job({}, { startTime: long, completionTime: '2020-01-01T00:00:42Z' }),
    'of minutes': job({}, { startTime: long, completionTime: '2020-01-01T00:08:42Z' }),
    'of hours': job({}, { startTime: long, completionTime: '2020-01-01T07:08:42Z' }),
    'of days': job({}, { startTime: long, completionTime: '2020-01-04T07:08:42Z' }),
    'of a year': job({}, { startTime: long, completionTime: '2021-03-04T07:08:42Z' }),
    'of negative time': job({}, { startTime: long, completionTime: '2019-12-31T23:59:00Z' }),
  },
  'batch.cronjobs': {
    suspended: {
      spec: {
        schedule: '@every 1h',
        suspend: true,
        jobTemplate: job({}),
      },
      status: {
        lastScheduleTime: long,
        active: [
          { kind: 'Job', name: 'a' },
          { kind: 'Job', name: 'b' },
        ],
      },
    },
  },
  'autoscaling.v1.horizontalpodautoscalers': {
    current: {
      spec: { scaleTargetRef: target, maxReplicas: 5, targetCPUUtilizationPercentage: 60 },
      status: { currentReplicas: 2, desiredReplicas: 3, currentCPUUtilizationPercentage: 44 },
    },
  },
  'autoscaling.v2.horizontalpodautoscalers': autoscalers,
  'autoscaling.v2beta2.horizontalpodautoscalers': autoscalers,
  'policy.poddisruptionbudgets': {
    percent: {
      spec: { minAvailable: '30%', selector },
      status: { disruptionsAllowed: 2, currentHealthy: 3, desiredHealthy: 1, expectedPods: 3 },
    },
    most: { spec: { maxUnavailable: 2, selector } },
  },
  'policy.podsecuritypolicies': {
    open: {
      spec: {
        privileged: true,
        readOnlyRootFilesystem: true,
        allowedCapabilities: ['NET_ADMIN', 'SYS_TIME'],
        volumes: ['*'],
        seLinux: { rule: 'RunAsAny' },
        runAsUser: { rule: 'RunAsAny' },
        supplementalGroups: { rule: 'RunAsAny' },
        fsGroup: { rule: 'RunAsAny' },
      },
    },
  },
  'coordination.leases': { held: { spec: { holderIdentity: 'a_b' } } },
};
