import type { Dialect } from '#apimachinery/dialect.js';
import {
  podSpec,
  selector,
  smallPodSpec,
  smallTemplate,
  template,
} from '#test/integration/apiserver/peer/samples/pod-spec.js';
import type { Sample } from '#test/integration/apiserver/peer/samples/sample.js';

const labelled = { metadata: { labels: { app: 'example' } } };
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'example' };
const smallOnce = { spec: { ...smallPodSpec, restartPolicy: 'Never' } };
const once = { metadata: { labels: { job: 'example' } }, spec: { ...podSpec, restartPolicy: 'OnFailure' } };
const job = { parallelism: 2, completions: 4, backoffLimit: 3, activeDeadlineSeconds: 600, template: once };
const cronJob = {
  schedule: '*/5 * * * *',
  concurrencyPolicy: 'Forbid',
  startingDeadlineSeconds: 60,
  jobTemplate: { metadata: { labels: { cron: 'example' } }, spec: job },
};
const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const behavior = {
  scaleDown: { stabilizationWindowSeconds: 60, policies: [{ type: 'Percent', value: 50, periodSeconds: 60 }] },
};
const autoscalingMetrics = [
  { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
  { type: 'Pods', pods: { metric: { name: 'requests' }, target: { type: 'AverageValue', averageValue: '10' } } },
];
const autoscaler = { scaleTargetRef, minReplicas: 2, maxReplicas: 5, metrics: autoscalingMetrics, behavior };
const budget = { minAvailable: 1, selector };
const small = { selector, template: smallTemplate };

export const workloadSamples: readonly Sample[] = [
  {
    file: 'apps.v1.controllerrevisions',
    sizes: [() => ({ revision: 1 }), () => ({ ...labelled, data: { spec: { a: 1 } }, revision: 2 })],
  },
  {
    file: 'apps.v1.daemonsets',
    sizes: [
      () => ({ spec: small }),
      () => ({
        ...labelled,
        spec: {
          selector,
          template,
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } },
        },
      }),
    ],
  },
  {
    file: 'apps.v1.deployments',
    sizes: [
      () => ({ spec: small }),
      () => ({
        ...labelled,
        spec: {
          replicas: 3,
          selector,
          template,
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: '50%' } },
          minReadySeconds: 5,
        },
      }),
    ],
  },
  {
    file: 'apps.v1.replicasets',
    sizes: [() => ({ spec: small }), () => ({ ...labelled, spec: { replicas: 3, selector, template } })],
  },
  {
    file: 'apps.v1.statefulsets',
    sizes: [
      () => ({ spec: { ...small, serviceName: 'example' } }),
      () => ({
        ...labelled,
        spec: {
          replicas: 3,
          serviceName: 'example',
          selector,
          template,
          volumeClaimTemplates: [claim],
          podManagementPolicy: 'Parallel',
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
        },
      }),
    ],
  },
  {
    file: 'autoscaling.v1.horizontalpodautoscalers',
    sizes: [
      () => ({ spec: { scaleTargetRef, maxReplicas: 3 } }),
      () => ({
        ...labelled,
        spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 3, targetCPUUtilizationPercentage: 70 },
      }),
    ],
  },
  {
    file: 'autoscaling.v2.horizontalpodautoscalers',
    sizes: [() => ({ spec: { scaleTargetRef, maxReplicas: 3 } }), () => ({ ...labelled, spec: autoscaler })],
  },
  {
    file: 'autoscaling.v2beta2.horizontalpodautoscalers',
    sizes: [() => ({ spec: { scaleTargetRef, maxReplicas: 3 } }), () => ({ ...labelled, spec: autoscaler })],
  },
  {
    file: 'autoscaling.v2beta1.horizontalpodautoscalers',
    sizes: [
      () => ({ spec: { scaleTargetRef, maxReplicas: 3 } }),
      () => ({
        ...labelled,
        spec: {
          scaleTargetRef,
          maxReplicas: 3,
          metrics: [
            { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 70 } },
            { type: 'Pods', pods: { metricName: 'requests', targetAverageValue: '10' } },
          ],
        },
      }),
    ],
  },
  {
    file: 'batch.v1.jobs',
    sizes: [() => ({ spec: { template: smallOnce } }), () => ({ ...labelled, spec: job })],
  },
  ...['batch.v1.cronjobs', 'batch.v1beta1.cronjobs'].map((file) => ({
    file,
    sizes: [
      () => ({ spec: { schedule: '@daily', jobTemplate: { spec: { template: smallOnce } } } }),
      () => ({ ...labelled, spec: cronJob }),
    ],
  })),
  ...['policy.v1.poddisruptionbudgets', 'policy.v1beta1.poddisruptionbudgets'].map((file) => ({
    file,
    sizes: [() => ({ spec: { maxUnavailable: '50%', selector } }), () => ({ ...labelled, spec: budget })],
  })),
  {
    file: 'policy.v1beta1.podsecuritypolicies',
    sizes: [0, 1].map((size) => () => ({
      spec: {
        seLinux: { rule: 'RunAsAny' },
        runAsUser: { rule: 'MustRunAsNonRoot' },
        supplementalGroups: { rule: 'MustRunAs', ranges: [{ min: 1, max: 65535 }] },
        fsGroup: { rule: 'RunAsAny' },
        ...(size === 1 && { volumes: ['configMap', 'secret'], allowedHostPaths: [{ pathPrefix: '/srv' }] }),
      },
    })),
  },
  {
    file: 'scheduling.v1.priorityclasses',
    serial: true,
    sizes: [
      () => ({ value: 1000 }),
      () => ({ ...labelled, value: 1000, description: 'a class', preemptionPolicy: 'Never' }),
    ],
  },
  {
    file: 'coordination.v1.leases',
    sizes: [
      () => ({}),
      () => ({
        ...labelled,
        spec: {
          holderIdentity: 'me',
          leaseDurationSeconds: 15,
          acquireTime: '2024-05-01T10:00:00.000000Z',
          renewTime: '2024-05-01T10:00:00.000000Z',
          leaseTransitions: 1,
        },
      }),
    ],
  },
  ...['events.v1.events', 'events.v1beta1.events'].map((file) => ({
    file,
    sizes: [0, 1].map((size) => (_: Dialect, __: string, namespace: string | undefined) => ({
      eventTime: '2024-05-01T10:00:00.000000Z',
      reportingController: 'example.com/controller',
      reportingInstance: 'controller-0',
      action: 'Start',
      reason: 'Started',
      regarding: { kind: 'Pod', name: 'web-0', namespace },
      type: 'Normal',
      ...(size === 1 && {
        note: 'Started container main',
        series: { count: 2, lastObservedTime: '2024-05-01T10:00:00.000000Z' },
      }),
    })),
  })),
];
