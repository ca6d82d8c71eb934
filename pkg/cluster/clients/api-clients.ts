/** Clients of the commands of `orch`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { serverChecker } from '#cluster/clients/server-health.js';
import { addressesOf, ServerRegister } from '#cluster/clients/server-list.js';
import type { Layout } from '#cluster/config/layout.js';
import type { ClusterSettings, JoinedCluster } from '#cluster/config/settings.js';
import { SetupError } from '#cluster/terminal/setup-error.js';

export interface AdminClientOptions {
  /** Time limit of a request; absent: none. */
  readonly timeoutMs?: number;
  readonly userAgent?: string;
}

/** A client with all rights for this machine's API server. */
export async function adminClient(
  layout: Layout,
  { dialect }: Pick<ClusterSettings, 'dialect'>,
  options: AdminClientOptions = {},
): Promise<RestClient> {
  const config = await loadKubeconfig(layout.clientConfig, { clock: realClock });
  return connect(config, { dialect: dialectByName(dialect), clock: realClock, ...options });
}

/** Time limit of a request; ms. */
export const requestTimeoutMs = 15_000;

/**
 * A client for a ready API server on another machine, with the rights of this machine's node, or all rights on a server.
 * Rejects with a SetupError where there is no other server.
 */
export async function nodeClient(layout: Layout, settings: ClusterSettings): Promise<RestClient> {
  const {
    dialect: dialectName,
    joined,
    nodes: [name = ''],
  } = settings;
  const file = joined === undefined ? layout.clientConfig : layout.componentConfig(`node-${name}`);
  // Connects directly: the balancer of this machine stops before the last request.
  const server = joined === undefined ? await otherServer(layout, settings) : await listedServer(layout, joined);
  const config = await loadKubeconfig(file, { clock: realClock, env: process.env, server });
  return connect(config, { dialect: dialectByName(dialectName), clock: realClock, timeoutMs: requestTimeoutMs });
}

/** The first ready server in the node's list. */
function listedServer(layout: Layout, { server }: JoinedCluster): Promise<string> {
  const { all } = new ServerRegister(layout.servers, [new URL(server).host]);
  return firstReady(all, layout.joinedCa);
}

/** The first ready server among those that this machine's API server lists beside itself. */
async function otherServer(layout: Layout, settings: ClusterSettings): Promise<string> {
  const { apiPort, server } = settings;
  const client = await adminClient(layout, settings, { timeoutMs: requestTimeoutMs });
  try {
    const { namespaces, apiServiceName } = client.dialect;
    const slice = await client.resource(endpointslices).get(apiServiceName, { namespace: namespaces.default });
    const own = server === undefined ? '' : hostPort(server.address, apiPort);
    const others = addressesOf(slice).filter((address) => address !== own);
    if (server === undefined || others.length === 0)
      throw new SetupError('this is the only server of its cluster; stop the cluster with: orch down');
    return await firstReady(others, join(layout.pki, 'ca.crt'));
  } finally {
    await client.close();
  }
}

/** URL of the first ready server, or of the first one. @param caFile The cluster's authority. */
async function firstReady(servers: readonly string[], caFile: string): Promise<string> {
  const check = serverChecker({ ca: readFileSync(caFile, 'utf8'), clock: realClock });
  const states = await Promise.all(servers.map(check));
  return `https://${servers[Math.max(0, states.indexOf('ready'))]}`;
}
