/** The stored objects of a large cluster: nodes, and pods of workloads, with a few in trouble. */
import { encodeStored, type StorableObject } from '#storage/layout.js';
import { benchPod } from '#test/bench/pod.js';

export interface StoredPair {
  readonly key: string;
  readonly value: Buffer;
}

const teams = 50;
const podsOfWorkload = 100;
/** One pod of so many crashes. */
const troubled = 1000;
const created = '2026-01-01T00:00:00Z';

export const teamOf = (n: number): string => `team-${String(n % teams).padStart(2, '0')}`;
export const podName = (n: number): string => `web-${Math.floor(n / podsOfWorkload)}-6d4cf56db6-${n}`;
export const nodeName = (n: number): string => `node-${String(n).padStart(5, '0')}`;

type Whole = StorableObject & { readonly [field: string]: unknown };

function stored(object: Whole): Buffer {
  return encodeStored(object);
}

export interface PodChange {
  /** Of its status, which a table shows as the pod's status. */
  readonly reason?: string;
  readonly restarts?: number;
}

export function podPair(n: number, nodeCount: number, { reason, restarts = 0 }: PodChange = {}): StoredPair {
  const workload = Math.floor(n / podsOfWorkload);
  const name = podName(n);
  const namespace = teamOf(workload);
  const plain = benchPod(name);
  const isBad = n % troubled === troubled - 1;
  const waiting = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container' } };
  const state = isBad ? waiting : { running: { startedAt: created } };
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `web-${workload}-6d4cf56db6`, controller: true };
  return {
    key: `/registry/pods/${namespace}/${name}`,
    value: stored({
      ...plain,
      metadata: {
        ...plain.metadata,
        ...{ namespace, uid: `pod-${n}`, creationTimestamp: created },
        labels: { app: `web-${workload}`, 'pod-template-hash': '6d4cf56db6' },
        ownerReferences: [{ ...owner, uid: `set-${workload}` }],
      },
      spec: { ...plain.spec, nodeName: nodeName(n % nodeCount) },
      status: {
        ...{ phase: 'Running', podIP: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`, hostIP: '192.0.2.1' },
        ...(reason === undefined ? {} : { reason }),
        startTime: created,
        conditions: [{ type: 'Ready', status: isBad ? 'False' : 'True', lastTransitionTime: created }],
        containerStatuses: plain.spec.containers.map((container) => ({
          ...{
            name: container.name,
            image: container.image,
            imageID: '',
            ready: !isBad,
            restartCount: restarts + (isBad ? 12 : 0),
          },
          state,
        })),
      },
    }),
  };
}

export function nodePair(n: number, revision = 0): StoredPair {
  const allocatable = { cpu: '32', memory: '64Gi', pods: '110' };
  const name = nodeName(n);
  return {
    key: `/registry/nodes/${name}`,
    value: stored({
      ...{ apiVersion: 'v1', kind: 'Node' },
      metadata: {
        ...{ name, uid: `node-${n}`, creationTimestamp: created, labels: { zone: `zone-${n % 3}` } },
        ...(revision === 0 ? {} : { annotations: { 'example.com/revision': String(revision) } }),
      },
      spec: {},
      status: {
        ...{ allocatable, capacity: allocatable, nodeInfo: { kubeletVersion: 'v1.24.17' } },
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: created }],
      },
    }),
  };
}

function* workloadPairs(workload: number): Iterable<StoredPair> {
  const namespace = teamOf(workload);
  const name = `web-${workload}`;
  const selector = { matchLabels: { app: name } };
  const { spec } = benchPod(name);
  const template = { metadata: { labels: { app: name } }, spec };
  const common = { apiVersion: 'apps/v1', spec: { replicas: podsOfWorkload, selector, template } };
  const counts = { replicas: podsOfWorkload, readyReplicas: podsOfWorkload, availableReplicas: podsOfWorkload };
  const metadata = { namespace, creationTimestamp: created, generation: 1 };
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: `deployment-${workload}`, controller: true };
  const pair = (resource: string, object: Whole & { readonly metadata: { readonly name: string } }) => ({
    key: `/registry/${resource}/${namespace}/${object.metadata.name}`,
    value: stored(object),
  });
  yield pair('deployments', {
    ...{ ...common, kind: 'Deployment' },
    metadata: { ...metadata, name, uid: `deployment-${workload}` },
    status: { ...counts, updatedReplicas: podsOfWorkload, observedGeneration: 1 },
  });
  yield pair('replicasets', {
    ...{ ...common, kind: 'ReplicaSet' },
    metadata: { ...metadata, name: `${name}-6d4cf56db6`, uid: `set-${workload}`, ownerReferences: [owner] },
    status: { ...counts, observedGeneration: 1 },
  });
  yield pair('services', {
    ...{ apiVersion: 'v1', kind: 'Service' },
    metadata: { ...metadata, name, uid: `service-${workload}` },
    spec: { ...{ clusterIP: 'None', type: 'ClusterIP', selector: { app: name } }, ports: [{ port: 80 }] },
  });
}

export function* clusterObjects(nodeCount: number, podCount: number): Iterable<StoredPair> {
  for (let n = 0; n < teams; n++) {
    const name = teamOf(n);
    yield {
      key: `/registry/namespaces/${name}`,
      value: stored({
        ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: `team-${n}`, creationTimestamp: created } },
        ...{ spec: {}, status: { phase: 'Active' } },
      }),
    };
  }
  for (let n = 0; n < nodeCount; n++) yield nodePair(n);
  for (let n = 0; n < podCount / podsOfWorkload; n++) yield* workloadPairs(n);
  for (let n = 0; n < podCount; n++) yield podPair(n, nodeCount);
}
