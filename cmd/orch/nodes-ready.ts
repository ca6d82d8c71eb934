import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Client } from '#client/client.js';

/** Resolves when all the named nodes are Ready; rejects with the names of those that are not when `signal` aborts. */
export async function untilNodesReady(client: Client, names: readonly string[], signal: AbortSignal): Promise<void> {
  const waiting = new Set(names);
  while (waiting.size > 0) {
    try {
      for await (const { type, object } of client.resource(nodes).watch({ signal })) {
        if (type === 'BOOKMARK') continue;
        if (type !== 'DELETED' && isNodeReady(object)) waiting.delete(object.metadata.name ?? '');
        if (waiting.size === 0) return;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) throw new Error(`these nodes are not Ready: ${[...waiting].slice(0, 10).join(', ')}`);
  }
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
