import { readFileSync } from 'node:fs';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import type { RestClient } from '#client/rest/rest-client.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import type { ClusterSettings, JoinedCluster } from '#cmd/orch/context/settings.js';
import { askReady } from '#cmd/orch/servers/ask-ready.js';
import { KnownServers } from '#cmd/orch/servers/known-servers.js';

/** A client with the rights of the node that this machine is, of a server that is ready. */
export async function nodeClient(
  layout: Layout,
  { dialect: dialectName, joined, nodes: [name = ''] }: ClusterSettings,
): Promise<RestClient> {
  // Not by way of the node's own process, which ends before the last request.
  const server = await readyServer(layout, joined);
  const file = layout.componentConfig(`node-${name}`);
  const config = await loadKubeconfig(file, { clock: realClock, env: process.env, server });
  return connect(config, { dialect: dialectByName(dialectName), clock: realClock, timeoutMs: 15_000 });
}

/** The first that is ready of those that the node knows, or else the first. */
async function readyServer(layout: Layout, joined: JoinedCluster | undefined): Promise<string> {
  const own = joined === undefined ? [] : [new URL(joined.server).host];
  const { all } = new KnownServers(layout.servers, own);
  const ask = askReady({ ca: readFileSync(layout.joinedCa, 'utf8'), clock: realClock });
  const ready = await Promise.all(all.map(ask));
  return `https://${all[Math.max(0, ready.indexOf(true))]}`;
}
