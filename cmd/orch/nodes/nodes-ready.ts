import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';

/**
 * Resolves when all the named nodes are Ready and take pods; rejects with the names of those that do not when `signal`
 * aborts.
 */
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

/** A node keeps its taint for a moment after it is Ready: until a controller has seen that it is. */
export function takesPods(node: Node, { taints }: Dialect): boolean {
  return isNodeReady(node) && node.spec.taints?.some((taint) => taint.key === taints.notReady) !== true;
}

/** Resolves when pods can be created in the default namespace: they need its account, which a controller makes. */
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
