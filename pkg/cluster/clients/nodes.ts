/** Waits for nodes, and drains them. */
import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { evictPods, setUnschedulable } from '#client/drain/drain.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { SetupError } from '#cluster/terminal/setup-error.js';

/** Resolves when all the named nodes are Ready and take pods. Rejects with the names of the others when `signal` aborts. */
export async function untilNodesReady(client: Client, names: readonly string[], signal: AbortSignal): Promise<void> {
  const waiting = new Set(names);
  while (waiting.size > 0) {
    try {
      for await (const { type, object } of client.resource(nodes).watch({ signal })) {
        if (type === 'BOOKMARK') continue;
        if (type !== 'DELETED' && takesPods(object, client.dialect)) waiting.delete(object.metadata.name ?? '');
        if (waiting.size === 0) return;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) throw new Error(`these nodes are not Ready: ${[...waiting].slice(0, 10).join(', ')}`);
  }
}

/** Whether the node is Ready and a controller has removed the taint that keeps pods away. */
export function takesPods(node: Node, { taints }: Dialect): boolean {
  return isNodeReady(node) && node.spec.taints?.some((taint) => taint.key === taints.notReady) !== true;
}

/** Resolves when pods can be created in the default namespace: when a controller has created its service account. */
export async function untilPodsAreAdmitted(client: Client, signal: AbortSignal): Promise<void> {
  const accounts = client.resource(serviceaccounts);
  const namespace = client.dialect.namespaces.default;
  while (!signal.aborted) {
    try {
      for await (const { type } of accounts.watch({ namespace, fieldSelector: 'metadata.name=default', signal })) {
        if (type === 'ADDED' || type === 'MODIFIED') return;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  throw new Error(`the namespace ${namespace} has no default service account`);
}

/**
 * Evicts all pods of a node, also those with local data and those without a controller. Resolves for a node that does not
 * exist. Rejects with a SetupError when pods remain.
 * @param timeoutMs 0: no limit.
 */
export async function drainNode(client: RestClient, name: string, timeoutMs: number): Promise<void> {
  const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : new AbortController().signal;
  try {
    await setUnschedulable(client, name, true);
    await evictPods(client, name, {
      ...{ clock: realClock, signal: limit, tell: () => undefined },
      ...{ ignoreDaemonSets: true, deleteEmptyDirData: true, force: true },
    });
  } catch (error) {
    if (isNotFound(error)) return;
    if (limit.aborted) throw new SetupError(`node ${name} still has pods after ${timeoutMs / 1000} s`);
    throw error;
  }
}
