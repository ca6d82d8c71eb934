/** Makes a cluster one that other machines can join. */
import type { Client } from '#client/client.js';
import { clusterDomain } from '#cmd/orch/arguments.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { type Infrastructure, serverForOthers } from '#cmd/orch/infrastructure.js';
import { setUpJoiningAccess } from '#cmd/orch/joining/access.js';
import { publishClusterInfo } from '#cmd/orch/joining/cluster-info.js';
import { publishNodeSettings } from '#cmd/orch/joining/node-settings.js';

export async function setUpJoining(
  context: ClusterContext,
  { nodeIPs, pki }: Pick<Infrastructure, 'nodeIPs' | 'pki'>,
  client: Client,
): Promise<void> {
  const { settings, start } = context;
  const { podRange, serviceRange } = settings;
  await Promise.all([
    setUpJoiningAccess(client),
    publishClusterInfo(client, { server: serverForOthers(context, nodeIPs), ca: pki.authority.certificate }),
    publishNodeSettings(client, {
      ...{ podRange, serviceRange, clusterDomain },
      clusterDns: start.clusterDns,
      serviceProxy: start.serviceProxy,
    }),
  ]);
}
