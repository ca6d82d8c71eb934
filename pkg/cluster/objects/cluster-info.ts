/** Publishes the address and the authority of the cluster to joining machines. */
import { clusterInfoKey, clusterInfoName } from '#api/core/v1/configmap/cluster-info.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { formatKubeconfig, parseKubeconfig } from '#client/kubeconfig/file.js';
import { createIfAbsent } from '#cluster/objects/ensure-object.js';

export interface ClusterAddress {
  /** URL of the API server for other machines. */
  readonly server: string;
  /** PEM. */
  readonly ca: string;
}

/** Creates or updates the cluster info. Existing signatures stay; the bootstrap signer renews them when the info changes. */
export async function publishClusterInfo(client: Client, address: ClusterAddress): Promise<void> {
  const { dialect } = client;
  const maps = client.resource(configmaps);
  const namespace = dialect.namespaces.public;
  const key = clusterInfoKey(dialect);
  const data = { [key]: clusterInfoText(address) };
  for (;;) {
    try {
      const existing = await maps.get(clusterInfoName, { namespace });
      if (existing.data?.[key] !== data[key]) await maps.update({ ...existing, data: { ...existing.data, ...data } });
      return;
    } catch (error) {
      // The bootstrap signer has signed it meanwhile.
      if (isConflict(error)) continue;
      if (!isNotFound(error)) throw error;
    }
    if (await createIfAbsent(maps, { metadata: { name: clusterInfoName, namespace }, data })) return;
  }
}

/** URL of the API server in the cluster info; undefined when nothing is published. */
export async function publishedServer(client: Client): Promise<string | undefined> {
  const { dialect } = client;
  try {
    const map = await client.resource(configmaps).get(clusterInfoName, { namespace: dialect.namespaces.public });
    return parseKubeconfig(map.data?.[clusterInfoKey(dialect)] ?? '').clusters[0]?.cluster.server;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** A client config without a user, like kubeadm's. */
function clusterInfoText({ server, ca }: ClusterAddress): string {
  const cluster = { 'certificate-authority-data': Buffer.from(ca).toString('base64'), server };
  return formatKubeconfig({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: '', cluster }],
    contexts: [],
    'current-context': '',
    users: [],
  });
}
