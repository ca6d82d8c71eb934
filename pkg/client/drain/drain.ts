/** Takes the pods off a node: nothing new comes, and what is there is evicted as its disruption budgets allow. */
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound, statusOf } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { type DrainPolicy, planDrain } from '#client/drain/plan.js';

export interface DrainOptions extends DrainPolicy {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Absent: that of each pod. */
  readonly gracePeriodSeconds?: number | undefined;
  readonly tell: (line: string) => void;
}

/** Something about the pods of the node keeps it from being drained as it was asked. */
export class DrainRefusedError extends Error {
  override readonly name = 'DrainRefusedError';
}

/** As `kubectl drain` waits where a budget says no. */
const budgetRetryMs = 5_000;
const goneMs = 250;

/** Sets whether the node takes pods. Resolves with false where it is so already. */
export async function setUnschedulable(client: Client, name: string, unschedulable: boolean): Promise<boolean> {
  const node = await client.resource(nodes).get(name);
  if ((node.spec.unschedulable ?? false) === unschedulable) return false;
  await client.resource(nodes).patch(name, { spec: { unschedulable: unschedulable || null } }, { type: 'merge' });
  return true;
}

/**
 * Resolves when the pods are gone that have to be. Rejects with DrainRefusedError before anything is evicted, and when
 * `signal` aborts.
 */
export async function evictPods(client: Client, name: string, options: DrainOptions): Promise<void> {
  const { signal, tell } = options;
  const { items } = await client.resource(pods).list({ fieldSelector: `spec.nodeName=${name}`, signal });
  const { evicted, obstacles, warnings } = planDrain(client.dialect, items, options);
  if (obstacles.length > 0) throw new DrainRefusedError(obstacles.join('; '));
  for (const warning of warnings) tell(`Warning: ${warning}`);
  await Promise.all(evicted.map((pod) => evict(client, pod, options)));
}

async function evict(client: Client, pod: Pod, options: DrainOptions): Promise<void> {
  const { clock, gracePeriodSeconds, signal, tell } = options;
  const { dialect } = client;
  const { name = '', namespace = '', uid } = pod.metadata;
  const podClient = client.resource(pods);
  const deleteOptions = gracePeriodSeconds === undefined ? {} : { deleteOptions: { gracePeriodSeconds } };
  const eviction = {
    apiVersion: dialect.apiVersion('policy', 'v1'),
    kind: 'Eviction',
    metadata: { name, namespace },
    ...deleteOptions,
  };
  for (;;) {
    signal.throwIfAborted();
    tell(`evicting pod ${namespace}/${name}`);
    try {
      await podClient.createSubresource(name, 'eviction', eviction, { namespace, signal });
      break;
    } catch (error) {
      if (isNotFound(error)) return;
      if (statusOf(error)?.code !== 429) throw error;
      tell(`error when evicting pods/${name} -n ${namespace} (will retry after 5s): ${messageOf(error)}`);
      await clock.sleep(budgetRetryMs, signal);
    }
  }
  for (;;) {
    signal.throwIfAborted();
    try {
      const found = await podClient.get(name, { namespace, signal });
      if (found.metadata.uid !== uid) break;
    } catch (error) {
      if (isNotFound(error)) break;
      throw error;
    }
    await clock.sleep(goneMs, signal);
  }
  tell(`pod/${name} evicted`);
}
