/** Nodes, namespaces, autoscalers and extensions that do not work, and why. */
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import type { StoredObject } from '#insight/inquiry/observations.js';
import { ago, crashed, lease, node, pod, workload } from '#insight/testing/objects.js';
import { service } from '#insight/testing/service-situations.js';
import type { Situation } from '#insight/testing/situation.js';

const condition = (type: string, status: string, reason = '', message = '') => ({ type, status, reason, message });

const autoscaler = (...conditions: object[]) =>
  workload<HorizontalPodAutoscaler>('HorizontalPodAutoscaler', 'autoscaling/v2', {
    spec: { maxReplicas: 4, scaleTargetRef: { kind: 'Deployment', name: 'web' } },
    status: { conditions },
  });

export function terminatingNamespace(seconds: number, ...conditions: object[]): Namespace {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'shop', deletionTimestamp: ago(seconds) },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Terminating', conditions: conditions as never },
  };
}

/** An object of any kind. */
export function object(kind: string, fields: object = {}, metadata: object = {}): StoredObject {
  const result: StoredObject & object = { kind, metadata: { name: 'web', ...metadata }, ...fields };
  return result;
}

const backend = { namespace: 'shop', name: 'web' };
const webhooks = (failurePolicy: string) =>
  object('ValidatingWebhookConfiguration', {
    webhooks: [{ name: 'policy.example.com', failurePolicy, clientConfig: { service: backend } }],
  });
const definition = (...conditions: object[]) =>
  object('CustomResourceDefinition', { spec: { group: 'example.com' }, status: { conditions } });
const request = (conditions: object[] = [], seconds = 600) =>
  object(
    'CertificateSigningRequest',
    { spec: { signerName: 'example.com/signer', username: 'jane' }, status: { conditions } },
    { creationTimestamp: ago(seconds) },
  );
const unavailable = object('APIService', {
  spec: { group: 'metrics.k8s.io', version: 'v1beta1', service: backend },
  status: {
    conditions: [condition('Available', 'False', 'MissingEndpoints', 'endpoints for service/web have no addresses')],
  },
});
const crashing = pod({ app: crashed(1), phase: 'Running' });

export const systemSituations: readonly Situation[] = [
  {
    name: 'a silent node',
    about: node({ Ready: 'Unknown' }),
    objects: [lease('kube-node-lease', 'n1', 75)],
    root: 'NodeSilent',
    says: 'for 75 seconds',
  },
  {
    name: 'a node without a network',
    about: node(
      {},
      {
        status: {
          conditions: [
            condition(
              'Ready',
              'False',
              'KubeletNotReady',
              'container runtime network not ready: cni plugin not initialized',
            ),
          ],
        },
      },
    ),
    objects: [],
    root: 'NodeNetworkUnavailable',
    says: 'not ready',
    quotes: 'cni plugin not initialized',
  },
  {
    name: 'a node without disk space',
    about: node({ DiskPressure: 'True' }),
    objects: [],
    root: 'NodeDiskPressure',
    says: 'disk space',
  },
  {
    name: 'a node without process numbers',
    about: node({ PIDPressure: 'True' }),
    objects: [],
    root: 'NodeProcessPressure',
    says: 'process numbers',
  },
  {
    name: 'a cordoned node',
    about: node({}, { spec: { unschedulable: true } }),
    objects: [],
    root: 'NodeCordoned',
    says: 'cordoned',
  },
  {
    name: 'a namespace with an API that does not answer',
    about: terminatingNamespace(
      60,
      condition(
        'NamespaceDeletionDiscoveryFailure',
        'True',
        'DiscoveryFailed',
        'metrics.k8s.io/v1beta1: the server is currently unable',
      ),
    ),
    objects: [],
    root: 'ApiUnavailable',
    says: 'does not answer',
    quotes: 'metrics.k8s.io',
  },
  {
    name: 'a namespace with finalizers',
    about: terminatingNamespace(
      60,
      condition(
        'NamespaceContentRemaining',
        'True',
        'SomeResourcesRemain',
        'Some resources are remaining: widgets.example.com has 2 resource instances',
      ),
      condition(
        'NamespaceFinalizersRemaining',
        'True',
        'SomeFinalizersRemain',
        'Some content in the namespace has finalizers remaining: example.com/clean in 2 resource instances',
      ),
    ),
    objects: [],
    root: 'FinalizerPending',
    says: 'finalizers whose controllers',
    quotes: 'example.com/clean',
  },
  {
    name: 'a namespace whose content cannot be deleted',
    about: terminatingNamespace(
      60,
      condition('NamespaceDeletionContentFailure', 'True', 'ContentDeletionFailed', 'webhook denied'),
    ),
    objects: [],
    root: 'ContentNotDeleted',
    says: 'cannot be deleted',
  },
  {
    name: 'a namespace without a controller',
    about: terminatingNamespace(60),
    objects: [lease('kube-system', 'kube-controller-manager', 200)],
    root: 'NoLeader',
    says: '200 seconds',
  },
  {
    name: 'an object with a finalizer',
    about: object('Widget', {}, { namespace: 'shop', deletionTimestamp: ago(60), finalizers: ['example.com/clean'] }),
    objects: [],
    root: 'FinalizerPending',
    says: 'example.com/clean',
  },
  {
    name: 'an object that waits for what it owns',
    about: object(
      'Deployment',
      {},
      { namespace: 'shop', deletionTimestamp: ago(60), finalizers: ['foregroundDeletion'] },
    ),
    objects: [],
    root: 'FinalizerPending',
    says: 'the objects that it owns to go first',
  },
  {
    name: 'an autoscaler without metrics',
    about: autoscaler(
      condition('AbleToScale', 'True'),
      condition(
        'ScalingActive',
        'False',
        'FailedGetResourceMetric',
        'unable to fetch metrics from resource metrics API: the server could not find the requested resource',
      ),
    ),
    objects: [],
    root: 'MetricsMissing',
    says: 'cannot be read',
  },
  {
    name: 'an autoscaler of pods without requests',
    about: autoscaler(condition('ScalingActive', 'False', 'FailedGetResourceMetric', 'missing request for cpu')),
    objects: [],
    root: 'RequestsMissing',
    says: 'no request',
  },
  {
    name: 'an autoscaler of a target that does not exist',
    about: autoscaler(condition('AbleToScale', 'False', 'FailedGetScale', 'deployments.apps "web" not found')),
    objects: [],
    root: 'TargetMissing',
    says: 'Deployment web',
  },
  {
    name: 'an autoscaler of a target with no replicas',
    about: autoscaler(
      condition(
        'ScalingActive',
        'False',
        'ScalingDisabled',
        'scaling is disabled since the replica count of the target is zero',
      ),
    ),
    objects: [],
    root: 'ScalingDisabled',
    says: '0 replicas',
  },
  {
    name: 'an autoscaler at its maximum',
    about: autoscaler(
      condition('ScalingActive', 'True'),
      condition('ScalingLimited', 'True', 'TooManyReplicas', 'the desired replica count is more than the maximum'),
    ),
    objects: [],
    root: 'AtMaximum',
    says: 'maximum of 4',
  },
  {
    name: 'a definition whose names are taken',
    about: definition(
      condition('NamesAccepted', 'False', 'PluralConflict', '"widgets" is already in use'),
      condition('Established', 'False'),
    ),
    objects: [],
    root: 'NamesTaken',
    says: 'Another definition',
    quotes: 'already in use',
  },
  {
    name: 'a definition of a protected group',
    about: definition(
      condition(
        'KubernetesAPIApprovalPolicyConformant',
        'False',
        'MissingAnnotation',
        'protected groups must have approval annotation',
      ),
    ),
    objects: [],
    root: 'GroupProtected',
    says: 'protected',
  },
  {
    name: 'a definition whose conversion has no pods',
    about: object('CustomResourceDefinition', {
      spec: { conversion: { webhook: { clientConfig: { service: backend } } } },
      status: {},
    }),
    objects: [service()],
    root: 'SelectorMatchesNothing',
    says: 'No pod',
  },
  {
    name: 'an API service whose server crashes',
    about: unavailable,
    objects: [service(), crashing, node()],
    root: 'Crashes',
    says: 'exit code 1',
    quotes: 'have no addresses',
  },
  {
    name: 'a webhook that is not installed',
    about: webhooks('Fail'),
    objects: [],
    root: 'ServiceMissing',
    says: 'Service shop/web',
  },
  {
    name: 'a webhook whose server crashes',
    about: webhooks('Ignore'),
    objects: [service(), crashing, node()],
    root: 'Crashes',
    says: 'exit code 1',
  },
  {
    name: 'a signing request without an approval',
    about: request(),
    objects: [],
    root: 'WaitsForApproval',
    says: 'approval',
  },
  {
    name: 'a signing request that was denied',
    about: request([condition('Denied', 'True', 'Unknown', 'not one of ours')]),
    objects: [],
    root: 'RequestDenied',
    says: 'denied',
    quotes: 'not one of ours',
  },
  {
    name: 'a signing request of a signer that does not run',
    about: request([condition('Approved', 'True')]),
    objects: [],
    root: 'SignerSilent',
    says: 'example.com/signer',
  },
  {
    name: 'a signing request that the signer refused',
    about: request([condition('Approved', 'True'), condition('Failed', 'True', 'SignerValidationFailure', 'usages')]),
    objects: [],
    root: 'SigningFailed',
    says: 'could not sign',
  },
];
