import { controllerrevisions, daemonsets, deployments, replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { horizontalpodautoscalers as autoscalersV1 } from '#api/autoscaling/v1/resources.gen.js';
import { horizontalpodautoscalers as autoscalersV2 } from '#api/autoscaling/v2/resources.gen.js';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import { type AnyCase, resourceCase } from '#test/integration/apiserver/resources/resource-case.js';

const metadata = { name: 'example' };
const containers = [{ name: 'main', image: 'example/main:1.0' }];
const selector = { matchLabels: { app: 'example' } };
const template = { metadata: { labels: { app: 'example' } }, spec: { containers } };
const once = { spec: { containers, restartPolicy: 'Never' } };
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'example' };
/** A selector that the template does not match. */
const mismatch = {
  change: { 'spec.selector.matchLabels': { app: 'other' } },
  causes: ['spec.template.metadata.labels'],
};

export const workloadCases: readonly AnyCase[] = [
  resourceCase({
    resource: controllerrevisions,
    example: () => ({ metadata, data: { spec: {} }, revision: 1 }),
    defaults: {},
    invalid: { change: { revision: -1 }, causes: ['revision'] },
    cells: { Controller: '<none>', Revision: 1 },
  }),
  resourceCase({
    resource: daemonsets,
    example: () => ({ metadata, spec: { selector, template } }),
    defaults: {
      'spec.updateStrategy.type': 'RollingUpdate',
      'spec.updateStrategy.rollingUpdate.maxUnavailable': 1,
      'spec.revisionHistoryLimit': 10,
      'spec.template.spec.restartPolicy': 'Always',
      'metadata.generation': 1,
    },
    invalid: mismatch,
    cells: { Desired: 0, Ready: 0, 'Node Selector': '<none>', Containers: 'main', Selector: 'app=example' },
  }),
  resourceCase({
    resource: deployments,
    example: () => ({ metadata, spec: { selector, template } }),
    defaults: {
      'spec.replicas': 1,
      'spec.strategy.type': 'RollingUpdate',
      'spec.strategy.rollingUpdate': { maxUnavailable: '25%', maxSurge: '25%' },
      'spec.revisionHistoryLimit': 10,
      'spec.progressDeadlineSeconds': 600,
      'metadata.generation': 1,
    },
    invalid: {
      change: { ...mismatch.change, 'spec.template.spec.containers': [] },
      causes: [...mismatch.causes, 'spec.template.spec.containers'],
    },
    cells: { Ready: '0/1', 'Up-to-date': 0, Available: 0, Images: 'example/main:1.0', Selector: 'app=example' },
  }),
  resourceCase({
    resource: replicasets,
    example: () => ({ metadata, spec: { selector, template } }),
    defaults: { 'spec.replicas': 1, 'metadata.generation': 1, 'status.replicas': 0 },
    invalid: mismatch,
    cells: { Desired: 1, Current: 0, Ready: 0, Selector: 'app=example' },
  }),
  resourceCase({
    resource: statefulsets,
    example: () => ({ metadata, spec: { selector, template, serviceName: 'example' } }),
    defaults: {
      'spec.replicas': 1,
      'spec.podManagementPolicy': 'OrderedReady',
      'spec.updateStrategy': { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      'spec.revisionHistoryLimit': 10,
    },
    invalid: {
      change: { 'spec.podManagementPolicy': 'Whenever', 'spec.replicas': -1 },
      causes: ['spec.podManagementPolicy', 'spec.replicas'],
    },
    cells: { Ready: '0/1', Containers: 'main' },
  }),
  resourceCase({
    resource: autoscalersV1,
    example: () => ({ metadata, spec: { scaleTargetRef, maxReplicas: 3 } }),
    defaults: { 'spec.minReplicas': 1, 'spec.targetCPUUtilizationPercentage': 80 },
    invalid: { change: { 'spec.maxReplicas': 0 }, causes: ['spec.maxReplicas'] },
    cells: { Reference: 'Deployment/example', Targets: '<unknown>/80%', MinPods: '1', MaxPods: 3, Replicas: 0 },
  }),
  resourceCase({
    resource: autoscalersV2,
    example: () => ({ metadata, spec: { scaleTargetRef, maxReplicas: 3 } }),
    defaults: {
      'spec.minReplicas': 1,
      'spec.metrics.0.resource': { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
    },
    invalid: {
      change: { 'spec.maxReplicas': 0, 'spec.scaleTargetRef.name': '' },
      causes: ['spec.scaleTargetRef.name', 'spec.maxReplicas'],
    },
    cells: { Reference: 'Deployment/example', Targets: '<unknown>/80%', MinPods: '1', MaxPods: 3, Replicas: 0 },
  }),
  resourceCase({
    resource: cronjobs,
    example: () => ({
      metadata,
      spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template: once } } },
    }),
    defaults: {
      'spec.concurrencyPolicy': 'Allow',
      'spec.suspend': false,
      'spec.successfulJobsHistoryLimit': 3,
      'spec.failedJobsHistoryLimit': 1,
    },
    invalid: {
      change: { 'spec.schedule': 'sometimes', 'spec.concurrencyPolicy': 'Perhaps' },
      causes: ['spec.schedule', 'spec.concurrencyPolicy'],
    },
    cells: { Schedule: '*/5 * * * *', Suspend: 'False', Active: 0, 'Last Schedule': '<none>', Containers: 'main' },
  }),
  resourceCase({
    resource: jobs,
    example: () => ({ metadata, spec: { template: once } }),
    defaults: {
      'spec.completions': 1,
      'spec.parallelism': 1,
      'spec.backoffLimit': 6,
      'spec.completionMode': 'NonIndexed',
      'spec.suspend': false,
    },
    invalid: {
      change: { 'spec.template.spec.restartPolicy': 'Always', 'spec.backoffLimit': -1 },
      causes: ['spec.template.spec.restartPolicy', 'spec.backoffLimit'],
    },
    cells: { Completions: '0/1', Duration: '', Containers: 'main' },
  }),
  resourceCase({
    resource: poddisruptionbudgets,
    example: () => ({ metadata, spec: { minAvailable: 1, selector } }),
    defaults: {},
    invalid: { change: { 'spec.minAvailable': '120%' }, causes: ['spec.minAvailable'] },
    cells: { 'Min Available': '1', 'Max Unavailable': 'N/A', 'Allowed Disruptions': 0 },
  }),
  resourceCase({
    resource: priorityclasses,
    example: () => ({ metadata, value: 1000 }),
    defaults: { preemptionPolicy: 'PreemptLowerPriority' },
    invalid: { change: { value: 1_000_000_001 }, causes: ['value'] },
    cells: { Value: 1000, 'Global-Default': false },
  }),
];
