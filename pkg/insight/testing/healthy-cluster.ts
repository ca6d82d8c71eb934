/** A cluster in which nothing is wrong: teams with workloads of every kind, each in variants, and the parts of the cluster. */
import type { Lease } from '#api/coordination/v1/types.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { StoredObject } from '#insight/inquiry/observations.js';
import { forShop, wildcard } from '#insight/testing/certificates.js';
import { ago, lease, node, pod, running } from '#insight/testing/objects.js';

type Fields = Readonly<Record<string, unknown>>;

const yes = (type: string, reason = '') => ({ type, status: 'True', reason });
const no = (type: string, reason = '') => ({ type, status: 'False', reason });

/** Any object, with a UID and an age. */
function object(apiVersion: string, kind: string, metadata: Fields, fields: Fields = {}): StoredObject {
  const { namespace = '', name } = metadata;
  const result: StoredObject & Fields = {
    apiVersion,
    kind,
    metadata: { uid: `${kind}-${namespace}-${name}`, creationTimestamp: ago(86_400), generation: 1, ...metadata },
    ...fields,
  };
  return result;
}

function ownedBy({ apiVersion = '', kind = '', metadata: { name = '', uid = '' } }: StoredObject): Fields {
  return { ownerReferences: [{ apiVersion, kind, name, uid, controller: true }] };
}

interface Team {
  readonly namespace: string;
  /** Selects the variants. */
  readonly index: number;
  readonly nodes: readonly string[];
}

/** Sidecars, restarts of long ago, ended init containers, readiness gates. */
const podVariants: readonly ((pod: Pod) => Pod)[] = [
  (each) => each,
  ({ spec, status, ...each }) => ({
    ...each,
    spec: { ...spec, containers: [...spec.containers, { name: 'sidecar', image: 'mesh:2' }] },
    status: {
      ...status,
      containerStatuses: [...(status?.containerStatuses ?? []), { ...ran, name: 'sidecar' }],
    },
  }),
  ({ status, ...each }) => ({
    ...each,
    status: {
      ...status,
      containerStatuses: [
        {
          ...ran,
          restartCount: 7,
          lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt: ago(40_000) } },
        },
      ],
    },
  }),
  ({ spec, status, ...each }) => ({
    ...each,
    spec: { ...spec, initContainers: [{ name: 'prepare', image: 'prepare:1' }] },
    status: {
      ...status,
      initContainerStatuses: [
        {
          ...ran,
          name: 'prepare',
          state: { terminated: { exitCode: 0, reason: 'Completed', finishedAt: ago(80_000) } },
        },
      ],
    },
  }),
  ({ spec, status, ...each }) => ({
    ...each,
    spec: { ...spec, readinessGates: [{ conditionType: 'example.com/ready' }] },
    status: { ...status, conditions: [...(status?.conditions ?? []), yes('example.com/ready')] },
  }),
];
const ran = { name: 'app', ready: true, restartCount: 0, image: 'shop/web:1', imageID: '', ...running };

function podsOf(team: Team, owner: StoredObject, app: string, count: number, more: Partial<Pod['spec']> = {}): Pod[] {
  return Array.from({ length: count }, (_, i) => {
    const name = `${owner.metadata.name ?? ''}-${i}`;
    const on = team.nodes[(team.index + i) % team.nodes.length] ?? '';
    const metadata = { namespace: team.namespace, uid: `Pod-${team.namespace}-${name}`, ...ownedBy(owner) };
    const plain = pod({ name, labels: { app }, metadata, node: on, isReady: true, spec: more });
    return (podVariants[(team.index + i) % podVariants.length] ?? ((each: Pod) => each))(plain);
  });
}

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'app', image: 'a:1' }] },
});
const selector = (app: string) => ({ matchLabels: { app } });

/** Deployments: several sizes, old sets of earlier revisions, none at all, paused after their rollout. */
function deploymentsOf(team: Team): StoredObject[] {
  const { namespace, index } = team;
  const variants = [
    { name: 'web', replicas: 2 },
    { name: 'api', replicas: 1, spec: { strategy: { type: 'Recreate' } } },
    { name: 'off', replicas: 0 },
    { name: 'held', replicas: 1, spec: { paused: true } },
  ];
  return variants.flatMap(({ name, replicas, spec = {} }) => {
    const status = {
      ...{
        observedGeneration: 1,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      },
      conditions: [yes('Available', 'MinimumReplicasAvailable'), yes('Progressing', 'NewReplicaSetAvailable')],
    };
    const own = object(
      'apps/v1',
      'Deployment',
      { namespace, name },
      {
        spec: { replicas, selector: selector(name), template: template(name), ...spec },
        status,
      },
    );
    const setOf = (hash: string, size: number) =>
      object(
        'apps/v1',
        'ReplicaSet',
        { namespace, name: `${name}-${hash}`, labels: { app: name }, ...ownedBy(own) },
        {
          spec: { replicas: size, selector: selector(name), template: template(name) },
          status: { observedGeneration: 1, replicas: size, readyReplicas: size, availableReplicas: size },
        },
      );
    const newest = setOf('7d9', replicas);
    const old = index % 2 === 0 ? [setOf('5c4', 0), setOf('6b8', 0)] : [];
    return [own, newest, ...old, ...podsOf(team, newest, name, replicas)];
  });
}

/** A database with a claim for each pod, and agents on all nodes. */
function setsOf(team: Team): StoredObject[] {
  const { namespace, index, nodes } = team;
  const replicas = 1 + (index % 3);
  const db = object(
    'apps/v1',
    'StatefulSet',
    { namespace, name: 'db' },
    {
      spec: {
        ...{ replicas, serviceName: 'db', selector: selector('db'), template: template('db') },
        podManagementPolicy: index % 2 === 0 ? 'OrderedReady' : 'Parallel',
        updateStrategy:
          index % 3 === 0 ? { type: 'OnDelete' } : { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      },
      status: {
        ...{
          observedGeneration: 1,
          replicas,
          readyReplicas: replicas,
          currentReplicas: replicas,
          updatedReplicas: replicas,
        },
        ...{ availableReplicas: replicas, currentRevision: 'db-1', updateRevision: 'db-1' },
      },
    },
  );
  const claims = Array.from({ length: replicas }, (_, i) => {
    const volumeName = `${namespace}-db-${i}`;
    const claim = object(
      'v1',
      'PersistentVolumeClaim',
      { namespace, name: `data-db-${i}` },
      {
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'disks',
          volumeName,
          resources: { requests: { storage: '1Gi' } },
        },
        status: { phase: 'Bound', capacity: { storage: '1Gi' } },
      },
    );
    const volume = object(
      'v1',
      'PersistentVolume',
      { name: volumeName },
      {
        spec: {
          capacity: { storage: '1Gi' },
          storageClassName: 'disks',
          claimRef: { namespace, name: `data-db-${i}` },
        },
        status: { phase: 'Bound' },
      },
    );
    return [claim, volume];
  });
  const count = nodes.length;
  const agent = object(
    'apps/v1',
    'DaemonSet',
    { namespace, name: 'agent' },
    {
      spec: { selector: selector('agent'), template: template('agent') },
      status: {
        ...{ observedGeneration: 1, desiredNumberScheduled: count, currentNumberScheduled: count, numberReady: count },
        ...{ numberAvailable: count, updatedNumberScheduled: count, numberMisscheduled: 0 },
      },
    },
  );
  return [db, ...podsOf(team, db, 'db', replicas), ...claims.flat(), agent, ...podsOf(team, agent, 'agent', count)];
}

/** Jobs that have ended well or run, and schedules. */
function jobsOf(team: Team): StoredObject[] {
  const { namespace } = team;
  const ended = object(
    'batch/v1',
    'Job',
    { namespace, name: 'import' },
    {
      spec: { completions: 1, parallelism: 1, selector: selector('import'), template: template('import') },
      status: { succeeded: 1, conditions: [yes('Complete')] },
    },
  );
  const runs = object(
    'batch/v1',
    'Job',
    { namespace, name: 'report' },
    {
      spec: {
        completions: 3,
        parallelism: 1,
        completionMode: 'Indexed',
        selector: selector('report'),
        template: template('report'),
      },
      status: { active: 1, succeeded: 1 },
    },
  );
  const nightly = object(
    'batch/v1',
    'CronJob',
    { namespace, name: 'nightly' },
    {
      spec: { schedule: '0 3 * * *', concurrencyPolicy: 'Forbid', jobTemplate: { spec: { template: template('n') } } },
      status: { lastScheduleTime: ago(30_000), lastSuccessfulTime: ago(29_000) },
    },
  );
  return [ended, runs, ...podsOf(team, runs, 'report', 1), nightly];
}

/** Services of each type, an ingress, a budget, an autoscaler, policies. */
function networkOf({ namespace, index, nodes }: Team): StoredObject[] {
  const service = (name: string, spec: Fields, status: Fields = {}) =>
    object('v1', 'Service', { namespace, name }, { spec: { ports: [{ port: 80 }], ...spec }, status });
  const certificate = index % 2 === 0 ? forShop : wildcard;
  const slice = { namespace, name: 'outside-1', labels: { 'kubernetes.io/service-name': 'outside' } };
  return [
    service('web', { selector: { app: 'web' }, type: 'ClusterIP', clusterIP: '10.0.0.9' }),
    service('db', { selector: { app: 'db' }, clusterIP: 'None' }),
    service('api', { selector: { app: 'api' }, type: 'NodePort' }),
    service(
      'edge',
      { selector: { app: 'web' }, type: 'LoadBalancer' },
      { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
    ),
    service('far', { type: 'ExternalName', externalName: 'db.example.com' }),
    service('outside', {}),
    object('discovery.k8s.io/v1', 'EndpointSlice', slice, {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.7'] }],
    }),
    object(
      'networking.k8s.io/v1',
      'Ingress',
      { namespace, name: 'web' },
      {
        spec: {
          ingressClassName: 'plain',
          tls: [{ hosts: ['shop.example.com'], secretName: 'web-tls' }],
          rules: [
            {
              host: 'shop.example.com',
              http: {
                paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }],
              },
            },
          ],
        },
      },
    ),
    object(
      'v1',
      'Secret',
      { namespace, name: 'web-tls' },
      {
        type: 'kubernetes.io/tls',
        data: { 'tls.crt': Buffer.from(certificate).toString('base64') },
      },
    ),
    object('v1', 'Secret', { namespace, name: 'password' }, { type: 'Opaque', data: { password: 'eA==' } }),
    object('v1', 'ConfigMap', { namespace, name: 'settings' }, { data: { level: 'info' } }),
    object(
      'policy/v1',
      'PodDisruptionBudget',
      { namespace, name: 'web' },
      {
        spec: { minAvailable: 1, selector: selector('web') },
        status: { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, observedGeneration: 1 },
      },
    ),
    object(
      'autoscaling/v2',
      'HorizontalPodAutoscaler',
      { namespace, name: 'web' },
      {
        spec: { minReplicas: 2, maxReplicas: 8, scaleTargetRef: { kind: 'Deployment', name: 'web' } },
        status: {
          conditions: [
            yes('AbleToScale', 'ReadyForNewScale'),
            yes('ScalingActive', 'ValidMetricFound'),
            index % 2 === 0 ? yes('ScalingLimited', 'TooFewReplicas') : no('ScalingLimited', 'DesiredWithinRange'),
          ],
        },
      },
    ),
    object(
      'networking.k8s.io/v1',
      'NetworkPolicy',
      { namespace, name: 'web' },
      {
        spec: { podSelector: selector('web'), policyTypes: ['Ingress'], ingress: [{}] },
      },
    ),
    object('v1', 'Namespace', { name: namespace }, { status: { phase: 'Active' } }),
    object(
      'coordination.k8s.io/v1',
      'Lease',
      { namespace, name: 'operator' },
      {
        spec: {
          holderIdentity: `web-7d9-0_${nodes.length}`,
          renewTime: ago(2),
          acquireTime: ago(4000),
          leaseTransitions: 3,
          leaseDurationSeconds: 15,
        },
      },
    ),
  ];
}

/** What is there once. */
function clusterParts(nodes: readonly string[]): StoredObject[] {
  const held = (name: string): Lease => lease('kube-system', name, 3);
  return [
    ...nodes.flatMap((name, i) => [
      node({}, { metadata: { name, uid: `Node-${name}`, labels: { zone: `z${i % 3}` } } }),
      lease('kube-node-lease', name, i),
    ]),
    held('kube-controller-manager'),
    held('kube-scheduler'),
    object('storage.k8s.io/v1', 'StorageClass', { name: 'disks' }, { provisioner: 'example.com/disks' }),
    object('networking.k8s.io/v1', 'IngressClass', { name: 'plain' }, { spec: { controller: 'example.com/ingress' } }),
    object(
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      { name: 'widgets.example.com' },
      {
        spec: { group: 'example.com', conversion: { strategy: 'None' } },
        status: { conditions: [yes('NamesAccepted'), yes('Established')] },
      },
    ),
    object(
      'apiregistration.k8s.io/v1',
      'APIService',
      { name: 'v1beta1.metrics.k8s.io' },
      {
        spec: { group: 'metrics.k8s.io', version: 'v1beta1', service: { namespace: 'team-0', name: 'web' } },
        status: { conditions: [yes('Available', 'Passed')] },
      },
    ),
    ...['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'].map((kind) =>
      object(
        'admissionregistration.k8s.io/v1',
        kind,
        { name: 'policy' },
        {
          webhooks: [
            {
              name: 'policy.example.com',
              clientConfig: {
                service: { namespace: 'team-0', name: 'web', port: 80 },
                caBundle: Buffer.from(forShop).toString('base64'),
              },
            },
          ],
        },
      ),
    ),
    object(
      'certificates.k8s.io/v1',
      'CertificateSigningRequest',
      { name: 'node-0' },
      {
        spec: { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', username: 'system:bootstrap:abc' },
        status: { certificate: 'x', conditions: [yes('Approved', 'AutoApproved')] },
      },
    ),
    object('example.com/v1', 'Widget', { namespace: 'team-0', name: 'blue' }, { spec: { color: 'blue' } }),
  ];
}

/** All objects of a cluster with so many teams. */
export function healthyCluster(teams = 4): readonly StoredObject[] {
  const nodes = ['n1', 'n2', 'n3'];
  const all = Array.from({ length: teams }, (_, index): Team => ({ namespace: `team-${index}`, index, nodes }));
  return [
    ...clusterParts(nodes),
    ...all.flatMap((team) => [...deploymentsOf(team), ...setsOf(team), ...jobsOf(team), ...networkOf(team)]),
  ];
}
