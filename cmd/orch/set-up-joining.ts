/** Makes a cluster one that other machines can join. */
import type { Clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { clusterDomain } from '#cmd/orch/arguments.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { type Infrastructure, serverForOthers } from '#cmd/orch/infrastructure.js';
import { setUpJoiningAccess } from '#cmd/orch/joining/access.js';
import { type ClusterAddress, publishClusterInfo, publishedServer } from '#cmd/orch/joining/cluster-info.js';
import { publishNodeSettings } from '#cmd/orch/joining/node-settings.js';
import { askServers } from '#cmd/orch/servers/ask-server.js';

export async function setUpJoining(
  context: ClusterContext,
  { nodeIPs, pki }: Pick<Infrastructure, 'nodeIPs' | 'pki'>,
  client: Client,
): Promise<void> {
  const { settings, start } = context;
  const { podRange, serviceRange } = settings;
  const info = { server: serverForOthers(context, nodeIPs), ca: pki.authority.certificate };
  const isFirst = settings.server?.joined === undefined;
  await Promise.all([
    setUpJoiningAccess(client),
    isFirst || !(await isNamed(client, info, context.clock)) ? publishClusterInfo(client, info) : undefined,
    // The first server has said what is the same on all machines.
    isFirst
      ? publishNodeSettings(client, {
          ...{ podRange, serviceRange, clusterDomain },
          clusterDns: start.clusterDns,
          serviceProxy: start.serviceProxy,
        })
      : undefined,
  ]);
}

/** Whether the cluster names a server to those who come that is there. */
async function isNamed(client: Client, { ca }: ClusterAddress, clock: Clock): Promise<boolean> {
  const named = await publishedServer(client);
  if (named === undefined || !URL.canParse(named)) return false;
  return (await askServers({ ca, clock })(new URL(named).host)) === 'ready';
}
