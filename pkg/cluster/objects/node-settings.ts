/** The cluster's settings for nodes: a ConfigMap in the system namespace that joining machines may read. */
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import type { Client } from '#client/client.js';
import { ensureObject } from '#cluster/objects/ensure-object.js';

export const nodeSettingsName = 'node-settings';
const key = 'settings.json';

export interface NodeSettings {
  /** Range of all pods, or one of each family, comma separated. */
  readonly podRange: string;
  readonly serviceRange: string;
  readonly clusterDomain: string;
  /** Name server of the pods: `built-in`, `none`, or an address. */
  readonly clusterDns: string;
  /** Service proxy: `built-in`, or `none`. */
  readonly serviceProxy: string;
}

/** Creates or replaces the published settings. */
export async function publishNodeSettings(client: Client, settings: NodeSettings): Promise<void> {
  const { dialect } = client;
  const map: ConfigMap = {
    metadata: { name: nodeSettingsName, namespace: dialect.namespaces.system },
    data: { [key]: `${JSON.stringify(settings, null, 2)}\n` },
  };
  await ensureObject(client.resource(configmaps), map);
}

/** Rejects with an Error for a malformed map. */
export async function readNodeSettings(client: Client): Promise<NodeSettings> {
  const namespace = client.dialect.namespaces.system;
  const map = await client.resource(configmaps).get(nodeSettingsName, { namespace });
  return parseNodeSettings(map.data?.[key] ?? '');
}

const fields = ['podRange', 'serviceRange', 'clusterDomain', 'clusterDns', 'serviceProxy'] as const;

/** Throws an Error for a malformed text. */
export function parseNodeSettings(text: string): NodeSettings {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`the cluster's settings for nodes are no JSON`, { cause: error });
  }
  const settings = value as Readonly<Record<string, unknown>> | null;
  for (const field of fields) {
    if (typeof settings?.[field] !== 'string' || settings[field] === '')
      throw new Error(`the cluster's settings for nodes have no ${field}`);
  }
  return value as NodeSettings;
}
