/** Writes the objects of a large cluster directly to etcd, so that 50,000 pods take seconds instead of minutes. */
import { randomUUID } from 'node:crypto';
import { replicasets } from '#api/apps/v1/resources.gen.js';
import type { ReplicaSet } from '#api/apps/v1/types.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { namespaces, nodes, pods, serviceaccounts, services } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock as clock, formatMicroTime, formatTime } from '#apimachinery/clock.js';
import type { ApiObject, Client } from '#client/client.js';
import { encodeStored } from '#storage/layout.js';
import type { Store } from '#storage/store.js';
import { benchPod } from '#test/bench/pod.js';

export const namespace = 'default';
export const podsOfSet = 100;
const atOnce = 64;

export const nodeName = (n: number): string => `node-${String(n).padStart(5, '0')}`;
export const leaseNamespace = 'kube-node-lease';

/** The size of groups of calls. */
export async function inGroups(count: number, call: (n: number) => Promise<unknown>, width = atOnce): Promise<void> {
  let next = 0;
  const work = async () => {
    for (let n = next++; n < count; n = next++) await call(n);
  };
  await Promise.all(Array.from({ length: width }, work));
}

/** One object of each kind goes through the API and is the template of the others. */
export async function seed(
  client: Client,
  store: Store,
  { nodeCount, podCount }: { readonly nodeCount: number; readonly podCount: number },
): Promise<void> {
  const put = (path: string, object: ApiObject) => {
    const { resourceVersion: _, ...metadata } = object.metadata;
    return store.create(`/registry/${path}`, encodeStored({ ...object, metadata }));
  };
  await client.resource(serviceaccounts).create({ metadata: { name: 'web', namespace } });
  await client.resource(serviceaccounts).create({ metadata: { name: 'default', namespace } });
  await client.resource(namespaces).get(leaseNamespace);

  const now = formatTime(clock.now());
  await client.resource(nodes).create({ metadata: { name: 'first' }, spec: {} });
  const times = { lastHeartbeatTime: now, lastTransitionTime: now };
  const allocatable = { cpu: '32', memory: '64Gi', pods: '110' };
  const ready = { type: 'Ready', status: 'True', reason: 'AgentReady', message: 'node agent is posting ready status' };
  const conditions = [
    ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({ type, status: 'False', ...times })),
    { ...ready, ...times },
  ];
  const status = { conditions, allocatable, capacity: allocatable };
  const node = await client.resource(nodes).patch('first', { status }, { type: 'merge', subresource: 'status' });
  await client.resource(nodes).delete('first');
  await inGroups(nodeCount, (n) =>
    put(`nodes/${nodeName(n)}`, {
      ...node,
      spec: { ...node.spec, taints: [] },
      metadata: { ...node.metadata, name: nodeName(n), uid: randomUUID() },
    } as ApiObject),
  );

  const leaseSpec = { leaseDurationSeconds: 40, renewTime: formatMicroTime(clock.now()) };
  const first = { metadata: { name: 'first', namespace: leaseNamespace }, spec: leaseSpec };
  const lease = await client.resource(leases).create(first);
  await client.resource(leases).delete('first', { namespace: leaseNamespace });
  await inGroups(nodeCount, (n) =>
    put(`leases/${leaseNamespace}/${nodeName(n)}`, {
      ...lease,
      metadata: { ...lease.metadata, name: nodeName(n), uid: randomUUID() },
      spec: { ...lease.spec, holderIdentity: nodeName(n) },
    } as ApiObject),
  );
  await seedSets(client, put, { nodeCount, podCount });
}

async function seedSets(
  client: Client,
  put: (path: string, object: ApiObject) => Promise<unknown>,
  { nodeCount, podCount }: { readonly nodeCount: number; readonly podCount: number },
): Promise<void> {
  const sets = Math.ceil(podCount / podsOfSet);
  const template = benchPod('first');
  const replicaSets: ReplicaSet[] = [];
  await inGroups(sets, async (n) => {
    const name = `web-${n}`;
    const labels = { app: name };
    const set = await client.resource(replicasets).create({
      metadata: { name, namespace },
      spec: {
        replicas: podsOfSet,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: template.spec },
      },
    });
    replicaSets[n] = set;
    const metadata = { name, namespace };
    await client.resource(services).create({ metadata, spec: { selector: labels, ports: [{ port: 80 }] } });
  });
  const created = await client.resource(pods).create(template);
  await client.resource(pods).delete('first', { namespace, gracePeriodSeconds: 0 });
  const { resourceVersion: _, ...common } = created.metadata;
  const startTime = formatTime(clock.now());
  await inGroups(sets * podsOfSet, (n) => {
    const set = replicaSets[Math.floor(n / podsOfSet)];
    const name = `${set?.metadata.name}-${n % podsOfSet}`;
    const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', controller: true, blockOwnerDeletion: true };
    const owner = { ...controller, name: set?.metadata.name ?? '', uid: set?.metadata.uid ?? '' };
    const ip = `10.${128 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
    const up = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
    const pod: Pod = {
      ...created,
      metadata: {
        ...common,
        name,
        uid: randomUUID(),
        labels: { ...common.labels, app: set?.metadata.name ?? '' },
        ownerReferences: [owner],
      },
      spec: { ...created.spec, nodeName: nodeName(n % nodeCount) },
      status: {
        ...created.status,
        phase: 'Running',
        startTime,
        podIP: ip,
        podIPs: [{ ip }],
        conditions: up.map((type) => ({ type, status: 'True', lastTransitionTime: startTime })),
        containerStatuses: created.spec.containers.map(({ name, image }) => ({
          name,
          image: image ?? '',
          imageID: `sha256:${'0'.repeat(64)}`,
          containerID: `containerd://${'0'.repeat(64)}`,
          ready: true,
          restartCount: 0,
          state: { running: { startedAt: startTime } },
        })),
      },
    };
    return put(`pods/${namespace}/${name}`, pod);
  });
}
