/** The nodes and leases that all situations share. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import { namespaces, nodes } from '#api/core/v1/resources.gen.js';
import type { NodeSpec } from '#api/core/v1/types.gen.js';
import { realClock as clock, formatMicroTime, formatTime } from '#apimachinery/clock.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';

interface SharedNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: NodeSpec;
}

/** Daemon sets select these nodes by their pool; nodes of situations have no pool. */
const shared: readonly SharedNode[] = [
  { name: 'n1', labels: { pool: 'main', disk: 'fast', zone: 'a' }, spec: {} },
  { name: 'n2', labels: { pool: 'main', zone: 'b' }, spec: {} },
  {
    name: 'n3',
    labels: { pool: 'main', zone: 'a' },
    spec: { taints: [{ key: 'dedicated', value: 'infra', effect: 'NoSchedule' }] },
  },
  { name: 'n4', labels: { pool: 'main', zone: 'b' }, spec: { unschedulable: true } },
];

const renewMs = 2000;
const namespace = 'kube-node-lease';

/** Renews leases until the signal aborts. Resolves when all nodes exist, with a promise of the end. */
export async function startNodes(client: Client, signal: AbortSignal): Promise<() => Promise<void>> {
  const renewing: Promise<void>[] = [];
  await created(client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} }));
  for (const { name, labels, spec } of shared) {
    await client.resource(nodes).create({ metadata: { name, labels: { ...labels } }, spec });
    const now = formatTime(clock.now());
    const times = { lastHeartbeatTime: now, lastTransitionTime: now };
    const amounts = { cpu: '32', memory: '64Gi', pods: '500' };
    const ready = { type: 'Ready', status: 'True', reason: 'AgentReady', message: '', ...times };
    const status = { conditions: [ready], allocatable: amounts, capacity: amounts };
    await client.resource(nodes).patch(name, { status }, { type: 'merge', subresource: 'status' });
    renewing.push(renew(client, name, signal));
  }
  return async () => void (await Promise.all(renewing));
}

async function created(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

async function renew(client: Client, name: string, signal: AbortSignal): Promise<void> {
  let lease = await client
    .resource(leases)
    .create({ metadata: { name, namespace }, spec: { holderIdentity: name, leaseDurationSeconds: 40 } });
  while (!signal.aborted) {
    const spec = { ...lease.spec, renewTime: formatMicroTime(clock.now()) };
    try {
      lease = await client.resource(leases).update({ ...lease, spec });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    await clock.sleep(renewMs, signal);
  }
}
