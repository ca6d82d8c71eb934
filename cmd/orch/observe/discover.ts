/** Where the API servers and the nodes of a cluster tell their metrics. */
import { endpoints, nodes } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Node } from '#api/core/v1/types.gen.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Client } from '#client/client.js';
import type { TargetGroup } from '#cmd/orch/context/targets.js';

export interface Discovered {
  readonly apiServers: readonly TargetGroup[];
  readonly nodes: readonly TargetGroup[];
}

export async function discover(client: Client): Promise<Discovered> {
  const { apiServiceName, namespaces } = client.dialect;
  const servers = await client.resource(endpoints).get(apiServiceName, { namespace: namespaces.default });
  const { items } = await client.resource(nodes).list();
  return { apiServers: serverTargets(servers), nodes: items.flatMap(nodeTargets) };
}

function serverTargets({ subsets = [] }: Endpoints): TargetGroup[] {
  return subsets.map(({ addresses = [], ports = [] }) => ({
    targets: addresses.flatMap(({ ip = '' }) => ports.map(({ port }) => hostPort(ip, port))),
  }));
}

/** None for a node that has not said yet where it is. */
function nodeTargets({ metadata, status }: Node): TargetGroup[] {
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  if (address === undefined || port === 0) return [];
  return [{ targets: [hostPort(address, port)], labels: { node: metadata.name ?? '' } }];
}
