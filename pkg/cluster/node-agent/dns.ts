/** Builds the DNS server that runs beside a node agent if its options enable it. */
import { randomInt } from 'node:crypto';
import type { Registry } from 'prom-client';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import { DnsServer } from '#dns/dns-server.js';
import { exchange } from '#dns/forward/exchange.js';
import { LocalAddresses, runProgram } from '#dns/local-addresses.js';
import { clusterDNSOf, hostDNSReader } from '#nodeagent/environment/dns.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { podsOfNode } from '#nodeagent/pods/manager.js';

export interface NodeDnsDependencies {
  /** The agent's informers, so that both share watches. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly nodeName: string;
}

const port = 53;
const ids = 65_536;
const podIPIndex = 'podIP';

/** Undefined if disabled. */
export function nodeDns(values: NodeAgentOptions, dependencies: NodeDnsDependencies): DnsServer | undefined {
  const addresses = values['dns-address'];
  if (addresses.length === 0) return undefined;
  const { clock, informers, nodeName } = dependencies;
  const local = new LocalAddresses(runProgram);
  const hostDNS = hostDNSReader(values['resolv-conf'], { clock, hostIPs: () => [] });
  const ownPods = informers.informer(pods, {
    ...podsOfNode(nodeName),
    indexers: { [podIPIndex]: ({ status }) => status?.podIPs?.map(({ ip = '' }) => ip) ?? [] },
  });
  return new DnsServer({
    ...dependencies,
    ...{ addresses, port, exchange },
    domain: clusterDNSOf(values).domain,
    randomId: () => randomInt(ids),
    prepare: async () => {
      for (const address of addresses) await local.ensure(address);
    },
    hostResolvers: async () => {
      const { servers, searches } = await hostDNS();
      return {
        upstreams: servers.map((address) => ({ address, port })),
        searches: searches.filter((domain) => domain !== '.'),
      };
    },
    namespaceOf: (address) => {
      const pod = ownPods.byIndex(podIPIndex, address).find(searchesCluster);
      return pod?.metadata.namespace;
    },
  });
}

/** False for pods on the host's network, which have the host's address and search domains. */
function searchesCluster({ spec, status }: Pod): boolean {
  const { dnsConfig, dnsPolicy = 'ClusterFirst', hostNetwork = false } = spec;
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  return !isOver && !hostNetwork && dnsPolicy === 'ClusterFirst' && (dnsConfig?.searches ?? []).length === 0;
}
