/** What a node has to know of the cluster to join it: a map in the system namespace that nodes-to-be may read. */
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import type { Client } from '#client/client.js';
import { ensureObject } from '#cmd/orch/joining/ensure-object.js';

export const nodeSettingsName = 'node-settings';
const key = 'settings.json';

export interface NodeSettings {
  /** Of all pods: one range, or one of each family with a comma between. */
  readonly podRange: string;
  readonly serviceRange: string;
  readonly clusterDomain: string;
  /** Who answers the pods' questions about names: `built-in`, `none`, or an address. */
  readonly clusterDns: string;
  /** What leads services to their pods: `built-in`, or `none`. */
  readonly serviceProxy: string;
}

/** Replaces what an earlier start of the cluster has said. */
export async function publishNodeSettings(client: Client, settings: NodeSettings): Promise<void> {
  const { dialect } = client;
  const map: ConfigMap = {
    metadata: { name: nodeSettingsName, namespace: dialect.namespaces.system },
    data: { [key]: `${JSON.stringify(settings, null, 2)}\n` },
  };
  await ensureObject(client.resource(configmaps), map);
}

/** Rejects with an Error for a map that says something else. */
export async function readNodeSettings(client: Client): Promise<NodeSettings> {
  const namespace = client.dialect.namespaces.system;
  const map = await client.resource(configmaps).get(nodeSettingsName, { namespace });
  return parseNodeSettings(map.data?.[key] ?? '');
}

const fields = ['podRange', 'serviceRange', 'clusterDomain', 'clusterDns', 'serviceProxy'] as const;

/** Throws an Error for a text that says something else. */
export function parseNodeSettings(text: string): NodeSettings {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`the cluster's settings for nodes are no JSON`, { cause: error });
  }
  const found = value as Readonly<Record<string, unknown>> | null;
  for (const field of fields) {
    if (typeof found?.[field] !== 'string' || found[field] === '')
      throw new Error(`the cluster's settings for nodes have no ${field}`);
  }
  return value as NodeSettings;
}
