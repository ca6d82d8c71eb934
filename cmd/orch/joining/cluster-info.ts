/** Publishes where the cluster is and which authority it has, for those who come with a token. */
import { clusterInfoKey, clusterInfoName } from '#api/core/v1/configmap/cluster-info.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { formatKubeconfig, parseKubeconfig } from '#client/kubeconfig/file.js';

export interface ClusterAddress {
  /** Where other machines reach the API server. */
  readonly server: string;
  /** PEM. */
  readonly ca: string;
}

/** Signatures stay; the controller that makes them renews them when what they sign has changed. */
export async function publishClusterInfo(client: Client, address: ClusterAddress): Promise<void> {
  const { dialect } = client;
  const maps = client.resource(configmaps);
  const namespace = dialect.namespaces.public;
  const key = clusterInfoKey(dialect);
  const data = { [key]: clusterInfoText(address) };
  for (;;) {
    try {
      const found = await maps.get(clusterInfoName, { namespace });
      if (found.data?.[key] !== data[key]) await maps.update({ ...found, data: { ...found.data, ...data } });
      return;
    } catch (error) {
      // It was signed meanwhile.
      if (isConflict(error)) continue;
      if (!isNotFound(error)) throw error;
    }
    try {
      await maps.create({ metadata: { name: clusterInfoName, namespace }, data });
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

/** What the cluster says of itself now; undefined: nothing yet. */
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

/** A client config without a user, as kubeadm writes it. */
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
