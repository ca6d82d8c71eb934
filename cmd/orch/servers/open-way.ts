/** Opens a joined machine's way to the API servers of its cluster. */

import { readFileSync } from 'node:fs';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { choosePort } from '#cmd/orch/context/settings.js';
import { editClientConfig } from '#cmd/orch/process/edit-client-config.js';
import { askServers } from '#cmd/orch/servers/ask-server.js';
import { ServerBalancer } from '#cmd/orch/servers/balancer.js';
import { KnownServers } from '#cmd/orch/servers/known-servers.js';

/** Beside that of API servers, so that a machine can be both. */
const preferredPort = 6444;

/** The servers it knows, which the caller keeps up to date. Client configs of the node lead there from now on. */
export async function openWay(context: ClusterContext): Promise<KnownServers> {
  const { clock, layout, log, running, settings } = context;
  const first = settings.joined === undefined ? [] : [new URL(settings.joined.server).host];
  const servers = new KnownServers(layout.servers, first);
  const way = new ServerBalancer({
    servers: () => servers.all,
    ask: askServers({ ca: readFileSync(layout.joinedCa, 'utf8'), clock }),
    random: Math.random,
    clock,
    log,
  });
  const port = await choosePort(preferredPort, '127.0.0.1', Math.random);
  await way.listen(port);
  running.push(way);
  for (const user of ['bootstrap', `node-${settings.nodes[0]}`])
    pointAt(layout.componentConfig(user), `https://127.0.0.1:${port}`);
  return servers;
}

/**
 * Points all clusters of the client config at this server, whose port may be another than at the last start. No error
 * where there is no file; throws KubeconfigErrors.
 */
export function pointAt(file: string, server: string): void {
  editClientConfig(file, ({ clusters }) => {
    for (const { cluster } of clusters) {
      cluster.server = server;
      // The address is this machine's, but what is behind it is not: large answers come compressed.
      cluster['disable-compression'] = false;
    }
  });
}
