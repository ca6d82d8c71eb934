/** What a pod's `/etc/resolv.conf` says. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { DNSConfig } from '#nodeagent/cri/cri.js';

export interface ClusterDNS {
  /** Name servers for pods with the policy ClusterFirst; none: they get the host's. */
  readonly servers: readonly string[];
  /** Such as `cluster.local`; empty adds no search domains. */
  readonly domain: string;
}

const maxServers = 3;
const maxSearches = 32;

/** The host's resolver configuration, from the text of its `resolv.conf`. */
export function parseResolvConf(text: string): DNSConfig {
  const config: DNSConfig = { servers: [], searches: [], options: [] };
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) config.servers.push(values[0]);
    else if (keyword === 'search') config.searches = values.map((domain) => domain.replace(/(.)\.$/, '$1'));
    else if (keyword === 'options') config.options = values;
  }
  return config;
}

function mergeOptions(base: readonly string[], added: readonly string[]): string[] {
  const merged = new Map(base.map((option) => [option.split(':')[0] ?? '', option]));
  for (const option of added) merged.set(option.split(':')[0] ?? '', option);
  return [...merged.values()];
}

/** Rules of `dnsPolicy` and `dnsConfig`; pods on the host's network fall back to Default as in 1.24. */
export function podDNS(pod: Pod, cluster: ClusterDNS, host: DNSConfig): DNSConfig {
  const { dnsPolicy = 'ClusterFirst', hostNetwork = false, dnsConfig } = pod.spec;
  const clusterFirst = dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && !hostNetwork);
  let config: DNSConfig;
  if (dnsPolicy === 'None') config = { servers: [], searches: [], options: [] };
  else if (clusterFirst && cluster.servers.length > 0) {
    const { domain } = cluster;
    const own = domain === '' ? [] : [`${pod.metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain];
    config = {
      servers: [...cluster.servers],
      searches: [...new Set([...own, ...host.searches])],
      options: ['ndots:5'],
    };
  } else config = { servers: [...host.servers], searches: [...host.searches], options: [...host.options] };
  const options = (dnsConfig?.options ?? []).map(({ name = '', value }) =>
    value === undefined || value === '' ? name : `${name}:${value}`,
  );
  return {
    servers: [...new Set([...config.servers, ...(dnsConfig?.nameservers ?? [])])].slice(0, maxServers),
    searches: [...new Set([...config.searches, ...(dnsConfig?.searches ?? [])])].slice(0, maxSearches),
    options: mergeOptions(config.options, options),
  };
}
