/** Clients of the cluster to which a machine belongs, for when its own programs stop. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import type { RestClient } from '#client/rest/rest-client.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import type { ClusterSettings, JoinedCluster } from '#cmd/orch/context/settings.js';
import { adminClient } from '#cmd/orch/nodes/admin-client.js';
import { askServers } from '#cmd/orch/servers/ask-server.js';
import { addressesOf } from '#cmd/orch/servers/follow-servers.js';
import { KnownServers } from '#cmd/orch/servers/known-servers.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';

/** Of one request; ms. */
export const askMs = 15_000;

/**
 * A client with the rights of the node that this machine is, or with all rights on a server; of another machine's API
 * server that is ready. Rejects with a SetupError where there is none.
 */
export async function nodeClient(layout: Layout, settings: ClusterSettings): Promise<RestClient> {
  const {
    dialect: dialectName,
    joined,
    nodes: [name = ''],
  } = settings;
  const file = joined === undefined ? layout.clientConfig : layout.componentConfig(`node-${name}`);
  // Not by way of what runs here, which ends before the last request.
  const server = joined === undefined ? await otherServer(layout, settings) : await knownServer(layout, joined);
  const config = await loadKubeconfig(file, { clock: realClock, env: process.env, server });
  return connect(config, { dialect: dialectByName(dialectName), clock: realClock, timeoutMs: askMs });
}

/** Of those that the node knows. */
function knownServer(layout: Layout, { server }: JoinedCluster): Promise<string> {
  const { all } = new KnownServers(layout.servers, [new URL(server).host]);
  return firstReady(all, layout.joinedCa);
}

/** Of those that the API server of this machine knows beside itself. */
async function otherServer(layout: Layout, settings: ClusterSettings): Promise<string> {
  const { apiPort, server } = settings;
  const client = await adminClient(layout, settings, { timeoutMs: askMs });
  try {
    const { namespaces, apiServiceName } = client.dialect;
    const slice = await client.resource(endpointslices).get(apiServiceName, { namespace: namespaces.default });
    const own = server === undefined ? '' : hostPort(server.address, apiPort);
    const others = addressesOf(slice).filter((address) => address !== own);
    if (server === undefined || others.length === 0)
      throw new SetupError('this is the only server of its cluster, which is stopped by: orch down');
    return await firstReady(others, join(layout.pki, 'ca.crt'));
  } finally {
    await client.close();
  }
}

/** Or else the first. @param caFile The cluster's authority. */
async function firstReady(servers: readonly string[], caFile: string): Promise<string> {
  const ask = askServers({ ca: readFileSync(caFile, 'utf8'), clock: realClock });
  const states = await Promise.all(servers.map(ask));
  return `https://${servers[Math.max(0, states.indexOf('ready'))]}`;
}
