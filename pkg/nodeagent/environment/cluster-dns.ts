import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { ClusterDNS } from '#nodeagent/environment/dns.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';

const standardDomain = 'cluster.local';

/** The name servers of the cluster, and its domain: those that are given, or else the agent's own. */
export function clusterDNSOf(values: NodeAgentOptions): ClusterDNS {
  const own = values['dns-address'];
  const given = values['cluster-dns'];
  const domain = values['cluster-domain'];
  return {
    servers: (given.length > 0 ? given : own).map((address) => canonicalAddress(address) ?? address),
    domain: domain === '' && own.length > 0 ? standardDomain : domain,
  };
}
