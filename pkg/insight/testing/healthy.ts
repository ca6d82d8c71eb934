/** Objects without a problem, or that are too young for one. */
import type { DaemonSet, StatefulSet } from '#api/apps/v1/types.gen.js';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.js';
import type { CronJob, Job } from '#api/batch/v1/types.gen.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import { forShop, wildcard } from '#insight/testing/certificates.js';
import { claim, storageClass, user, volume } from '#insight/testing/claim-situations.js';
import {
  ago,
  creating,
  deployment,
  event,
  node,
  pod,
  replicaSetOf,
  running,
  workload,
} from '#insight/testing/objects.js';
import { ingress, ingressClass, ready, service, tlsSecret } from '#insight/testing/service-situations.js';
import type { HealthyScene } from '#insight/testing/situation.js';
import { object, terminatingNamespace } from '#insight/testing/system-situations.js';

const good = node();
const young = { creationTimestamp: ago(2) };
const available = { replicas: 2, updatedReplicas: 2, availableReplicas: 2, readyReplicas: 2 };
const web = deployment({ status: available });
const rolling = deployment({ status: { ...available, availableReplicas: 1 } });
const recovered = pod({ isReady: true });
const sts = (status: object) => workload<StatefulSet>('StatefulSet', 'apps/v1', { status });
const ds = (status: object) => workload<DaemonSet>('DaemonSet', 'apps/v1', { status });
const tls = { tls: [{ hosts: ['shop.example.com'], secretName: 'web-tls' }] };
const isTrue = (type: string) => ({ type, status: 'True' });

export const healthy: readonly HealthyScene[] = [
  { name: 'a ready pod', about: pod({ isReady: true }), objects: [good], verdict: 'Healthy' },
  {
    name: 'a pod that has ended with success',
    about: pod({ phase: 'Succeeded', app: { state: { terminated: { exitCode: 0, reason: 'Completed' } } } }),
    objects: [good],
    verdict: 'Healthy',
  },
  {
    name: 'a pod whose container is being created',
    about: pod({ app: creating, metadata: young }),
    objects: [good],
    verdict: 'Progressing',
  },
  {
    name: 'a pod that no scheduler has seen yet',
    about: pod({ node: '', metadata: young, status: { conditions: [] } }),
    objects: [good],
    verdict: 'Progressing',
  },
  { name: 'a pod whose init container runs', about: pod({ init: running }), objects: [good], verdict: 'Progressing' },
  {
    name: 'a pod whose init container has ended',
    about: pod({ init: { state: { terminated: { exitCode: 0, reason: 'Completed' } } } }),
    objects: [good],
    verdict: 'Progressing',
  },
  {
    name: 'a running pod that is not ready yet',
    about: pod({ phase: 'Running', app: { ...running, ready: false } }),
    objects: [good],
    verdict: 'Progressing',
  },
  {
    name: 'a pod that has recovered from a failed mount',
    about: recovered,
    objects: [good],
    events: [event(recovered, 'FailedMount', 'MountVolume.SetUp failed', { lastTimestamp: ago(300) })],
    verdict: 'Healthy',
  },
  {
    name: 'a pod that pulls after a failed mount',
    about: pod({ name: 'late' }),
    objects: [good],
    events: [
      event(pod({ name: 'late' }), 'FailedMount', 'MountVolume.SetUp failed', { lastTimestamp: ago(30) }),
      event(pod({ name: 'late' }), 'Pulling', 'Pulling image', { lastTimestamp: ago(5) }),
    ],
    verdict: 'Progressing',
  },
  {
    name: 'a pod that was restarted long ago',
    about: pod({
      isReady: true,
      app: {
        ...running,
        ready: true,
        restartCount: 5,
        lastState: { terminated: { exitCode: 1, finishedAt: ago(90_000) } },
      },
    }),
    objects: [good],
    verdict: 'Healthy',
  },
  {
    name: 'a pod that ends within its grace period',
    about: pod({ isReady: true, metadata: { deletionTimestamp: ago(-20) } }),
    objects: [good],
    verdict: 'Progressing',
  },
  {
    name: 'a pod with an optional ConfigMap that is missing',
    about: pod({ spec: { volumes: [{ name: 'a', configMap: { name: 'a', optional: true } }] }, metadata: young }),
    objects: [good],
    verdict: 'Progressing',
  },
  {
    name: 'a pod on a cordoned node',
    about: pod({ metadata: young }),
    objects: [node({}, { spec: { unschedulable: true } })],
    verdict: 'Progressing',
  },
  {
    name: 'a pod with a file of its own service account',
    about: pod({
      metadata: young,
      spec: { volumes: [{ name: 't', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }] },
    }),
    objects: [good],
    verdict: 'Progressing',
  },
  { name: 'an available deployment', about: web, objects: [good], verdict: 'Healthy' },
  {
    name: 'a paused deployment whose rollout is over',
    about: deployment({ spec: { paused: true }, status: available }),
    objects: [good],
    verdict: 'Healthy',
  },
  {
    name: 'a deployment in the middle of a rollout',
    about: rolling,
    objects: [replicaSetOf(rolling), pod({ name: 'web-0', owner: replicaSetOf(rolling), metadata: young }), good],
    verdict: 'Progressing',
  },
  {
    name: 'a deployment that was changed a moment ago',
    about: deployment({ metadata: { generation: 3, managedFields: [{ time: ago(2) }] }, status: available }),
    objects: [good],
    verdict: 'Healthy',
  },
  {
    name: 'a deployment of no replicas',
    about: deployment({ replicas: 0, status: { replicas: 0 } }),
    objects: [good],
    verdict: 'Healthy',
  },
  {
    name: 'a ReplicaSet of an old revision',
    about: workload('ReplicaSet', 'apps/v1', { replicas: 0, status: { replicas: 0 } }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a ready stateful set',
    about: sts({ replicas: 2, readyReplicas: 2, currentRevision: 'a', updateRevision: 'a' }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a stateful set whose next pod starts',
    about: sts({ replicas: 1, readyReplicas: 0, currentRevision: 'a', updateRevision: 'a' }),
    objects: [pod({ name: 'web-0', owner: sts({}), metadata: young }), good],
    verdict: 'Progressing',
  },
  {
    name: 'an available daemon set',
    about: ds({ desiredNumberScheduled: 2, numberAvailable: 2, updatedNumberScheduled: 2 }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a job that runs',
    about: workload<Job>('Job', 'batch/v1', { status: { active: 1 } }),
    objects: [pod({ name: 'x', isReady: true })],
    verdict: 'Progressing',
  },
  {
    name: 'a job that is complete',
    about: workload<Job>('Job', 'batch/v1', { status: { conditions: [isTrue('Complete')] } }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a cron job',
    about: workload<CronJob>('CronJob', 'batch/v1', { spec: { schedule: '0 0 * * *' } }),
    objects: [],
    verdict: 'Healthy',
  },
  { name: 'a service with a ready pod', about: service(), objects: [ready], verdict: 'Healthy' },
  {
    name: 'a service with one of two pods ready',
    about: service(),
    objects: [ready, pod({ name: 'web-1', metadata: young })],
    verdict: 'Healthy',
  },
  {
    name: 'a service whose pods start',
    about: service(),
    objects: [pod({ metadata: young }), good],
    verdict: 'Healthy',
  },
  {
    name: 'a service of another name',
    about: service({ type: 'ExternalName', selector: undefined }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a service with a named target port',
    about: service({ ports: [{ port: 80, targetPort: 'http' }] }),
    objects: [pod({ isReady: true, container: { ports: [{ name: 'http', containerPort: 8080 }] } })],
    verdict: 'Healthy',
  },
  {
    name: 'an ingress with its service and certificate',
    about: ingress(tls),
    objects: [ingressClass, service(), ready, tlsSecret(forShop)],
    verdict: 'Healthy',
  },
  {
    name: 'an ingress with a certificate for all hosts of a domain',
    about: ingress(tls),
    objects: [ingressClass, service(), ready, tlsSecret(wildcard)],
    verdict: 'Healthy',
  },
  {
    name: 'a bound claim',
    about: claim({ volumeName: 'v1' }, { phase: 'Bound' }),
    objects: [volume('v1')],
    verdict: 'Healthy',
  },
  {
    name: 'a claim whose volume is being provisioned',
    about: claim({ storageClassName: 'disks' }, {}, young),
    objects: [storageClass('disks')],
    verdict: 'Progressing',
  },
  {
    name: 'a claim that a pod waits for',
    about: claim({ storageClassName: 'disks' }),
    objects: [storageClass('disks', { volumeBindingMode: 'WaitForFirstConsumer' }), user],
    verdict: 'Progressing',
  },
  { name: 'a ready node', about: good, objects: [], verdict: 'Healthy' },
  { name: 'a namespace', about: object('Namespace'), objects: [], verdict: 'Healthy' },
  {
    name: 'a namespace that was deleted a moment ago',
    about: terminatingNamespace(3),
    objects: [],
    verdict: 'Progressing',
  },
  {
    name: 'an autoscaler that works',
    about: workload<HorizontalPodAutoscaler>('HorizontalPodAutoscaler', 'autoscaling/v2', {
      status: {
        conditions: [isTrue('AbleToScale'), isTrue('ScalingActive'), { type: 'ScalingLimited', status: 'False' }],
      },
    }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a budget that allows an eviction',
    about: workload<PodDisruptionBudget>('PodDisruptionBudget', 'policy/v1', {
      status: { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
    }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a budget without pods',
    about: workload<PodDisruptionBudget>('PodDisruptionBudget', 'policy/v1', {
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'an established definition',
    about: object('CustomResourceDefinition', {
      spec: {},
      status: { conditions: [isTrue('NamesAccepted'), isTrue('Established')] },
    }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'an available API service',
    about: object('APIService', { spec: {}, status: { conditions: [isTrue('Available')] } }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a webhook with a ready server',
    about: object('MutatingWebhookConfiguration', {
      webhooks: [{ name: 'a', clientConfig: { service: { namespace: 'shop', name: 'web' } } }],
    }),
    objects: [service(), ready],
    verdict: 'Healthy',
  },
  {
    name: 'a webhook outside of the cluster',
    about: object('MutatingWebhookConfiguration', {
      webhooks: [{ name: 'a', clientConfig: { url: 'https://a.example' } }],
    }),
    objects: [],
    verdict: 'Healthy',
  },
  {
    name: 'a signed request',
    about: object('CertificateSigningRequest', {
      spec: { signerName: 'a/b' },
      status: { certificate: 'x', conditions: [isTrue('Approved')] },
    }),
    objects: [],
    verdict: 'Healthy',
  },
  { name: 'an object of another kind', about: object('Widget'), objects: [], verdict: 'Healthy' },
];
