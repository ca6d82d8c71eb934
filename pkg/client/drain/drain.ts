/** Drains a node: evicts its pods as far as disruption budgets allow. */
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound, statusOf } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';

export interface DrainPolicy {
  /** Keep pods of daemon sets, which would be recreated at once. */
  readonly ignoreDaemonSets: boolean;
  /** Evict pods even if they lose data in emptyDir volumes. */
  readonly deleteEmptyDirData: boolean;
  /** Evict pods that no controller recreates. */
  readonly force: boolean;
}

export interface DrainPlan {
  readonly evicted: readonly Pod[];
  /** Messages about what is lost or kept. */
  readonly warnings: readonly string[];
  /** Why the node may not be drained this way, and what to do about it. */
  readonly obstacles: readonly string[];
}

/** Decides which of the node's pods leave and which block the drain; rules and messages of `kubectl drain`. Pure. */
export function planDrain(dialect: Dialect, pods: readonly Pod[], policy: DrainPolicy): DrainPlan {
  const evicted: Pod[] = [];
  const daemons: string[] = [];
  const orphans: string[] = [];
  const withData: string[] = [];
  for (const pod of pods) {
    // The node runs static pods regardless of the API, so their mirrors stay.
    if (pod.metadata.annotations?.[dialect.annotations.configMirror] !== undefined) continue;
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const isOver = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller === true);
    if (controller?.kind === 'DaemonSet' && !isOver) {
      daemons.push(name);
      continue;
    }
    if (controller === undefined && !isOver) orphans.push(name);
    if (!isOver && (pod.spec.volumes ?? []).some((volume) => volume.emptyDir !== undefined)) withData.push(name);
    evicted.push(pod);
  }
  const warnings: string[] = [];
  const obstacles: string[] = [];
  const judge = (names: readonly string[], allowed: boolean, option: string, warning: string, obstacle: string) => {
    if (names.length === 0) return;
    if (allowed) warnings.push(`${warning}: ${names.join(', ')}`);
    else obstacles.push(`cannot delete ${obstacle} (use ${option} to ${optionMeanings[option]}): ${names.join(', ')}`);
  };
  judge(
    daemons,
    policy.ignoreDaemonSets,
    '--ignore-daemonsets',
    'ignoring DaemonSet-managed Pods',
    'DaemonSet-managed Pods',
  );
  judge(
    withData,
    policy.deleteEmptyDirData,
    '--delete-emptydir-data',
    'deleting Pods with local storage',
    'Pods with local storage',
  );
  judge(orphans, policy.force, '--force', 'deleting Pods that declare no controller', 'Pods declare no controller');
  return { evicted, warnings, obstacles };
}

const optionMeanings: Readonly<Record<string, string>> = {
  '--ignore-daemonsets': 'ignore',
  '--delete-emptydir-data': 'override',
  '--force': 'override',
};

export interface DrainOptions extends DrainPolicy {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Absent: each pod's own. */
  readonly gracePeriodSeconds?: number | undefined;
  readonly tell: (line: string) => void;
}

/** A pod blocks the requested drain. */
export class DrainRefusedError extends Error {
  override readonly name = 'DrainRefusedError';
}

/** Retry interval of `kubectl drain` when a budget blocks an eviction. */
const budgetRetryMs = 5_000;
const deletionPollMs = 250;

/** Cordons or uncordons the node. Resolves with false if nothing changes. */
export async function setUnschedulable(client: Client, name: string, unschedulable: boolean): Promise<boolean> {
  const node = await client.resource(nodes).get(name);
  if ((node.spec.unschedulable ?? false) === unschedulable) return false;
  await client.resource(nodes).patch(name, { spec: { unschedulable: unschedulable || null } }, { type: 'merge' });
  return true;
}

/**
 * Evicts pods and resolves when they are gone. Rejects with DrainRefusedError before the first eviction, and when
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
      const current = await podClient.get(name, { namespace, signal });
      if (current.metadata.uid !== uid) break;
    } catch (error) {
      if (isNotFound(error)) break;
      throw error;
    }
    await clock.sleep(deletionPollMs, signal);
  }
  tell(`pod/${name} evicted`);
}
