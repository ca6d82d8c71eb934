/** Builds a pod's `/etc/resolv.conf`. */

import { readFile } from 'node:fs/promises';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { DNSConfig } from '#nodeagent/cri/cri.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';

export interface ClusterDNS {
  /** Name servers for pods with the policy ClusterFirst; if empty, they get the host's. */
  readonly servers: readonly string[];
  /** Such as `cluster.local`; empty adds no search domains. */
  readonly domain: string;
}

const maxServers = 3;
/** Some resolvers abort on longer search domains. */
const maxSearch = 253;

export interface SearchLimits {
  readonly paths: number;
  /** Total of all paths, including separating spaces. */
  readonly characters: number;
}

/** With the feature gate ExpandedDNSConfig. */
export const expandedSearchLimits: SearchLimits = { paths: 32, characters: 2048 };

export interface DNSForming {
  readonly limits: SearchLimits;
  /** The agent's name in messages. */
  readonly agent: string;
  /** Called with reason and message of an event for dropped settings. */
  readonly report?: (reason: string, message: string) => void;
}

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

/** Applies `dnsPolicy` and `dnsConfig`; pods on the host's network fall back to Default as in 1.24. */
export function podDNS(pod: Pod, cluster: ClusterDNS, host: DNSConfig, forming: DNSForming): DNSConfig {
  const { report } = forming;
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
  } else {
    if (clusterFirst) report?.('MissingClusterDNS', missingClusterDNS(pod, dnsPolicy, forming.agent));
    config = { servers: [...host.servers], searches: [...host.searches], options: [...host.options] };
  }
  const options = (dnsConfig?.options ?? []).map(({ name = '', value }) =>
    value === undefined || value === '' ? name : `${name}:${value}`,
  );
  return {
    servers: fittingServers([...new Set([...config.servers, ...(dnsConfig?.nameservers ?? [])])], report),
    searches: fittingSearches([...new Set([...config.searches, ...(dnsConfig?.searches ?? [])])], forming),
    options: mergeOptions(config.options, options),
  };
}

function missingClusterDNS({ metadata: { name, namespace, uid } }: Pod, policy: string, agent: string): string {
  const pod = JSON.stringify(`${name}_${namespace}(${uid})`);
  return `pod: ${pod}. ${agent} does not have ClusterDNS IP configured and cannot create Pod using "${policy}" policy. Falling back to "Default" policy.`;
}

function fittingServers(servers: readonly string[], report: DNSForming['report']): string[] {
  const applied = servers.slice(0, maxServers);
  if (applied.length < servers.length) {
    const prefix =
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is';
    report?.('DNSConfigForming', `${prefix}: ${applied.join(' ')}`);
  }
  return applied;
}

function fittingSearches(searches: readonly string[], { limits, report }: DNSForming): string[] {
  const applied = searches.slice(0, limits.paths).filter((search) => search.length <= maxSearch);
  while (applied.join(' ').length > limits.characters) applied.pop();
  if (applied.length < searches.length) {
    const prefix = 'Search Line limits were exceeded, some search paths have been omitted, the applied search line is';
    report?.('DNSConfigForming', `${prefix}: ${applied.join(' ')}`);
  }
  return applied;
}

const standardDomain = 'cluster.local';

/** The cluster's name servers and domain from the options; the agent's own DNS address is the default. */
export function clusterDNSOf(values: NodeAgentOptions): ClusterDNS {
  const own = values['dns-address'];
  const configured = values['cluster-dns'];
  const domain = values['cluster-domain'];
  return {
    servers: (configured.length > 0 ? configured : own).map((address) => canonicalAddress(address) ?? address),
    domain: domain === '' && own.length > 0 ? standardDomain : domain,
  };
}

/** How long the host's resolver configuration is cached. */
const hostDNSMs = 10_000;

/** Reads the file at `path` on demand and caches it. An empty path means no resolver configuration. */
export function hostDNSReader(
  path: string,
  { clock, hostIPs }: { clock: Clock; hostIPs: () => readonly string[] },
): () => Promise<DNSConfig> {
  let cache: { at: number; config: Promise<DNSConfig> } | undefined;
  return () => {
    // These entries prevent any lookup; an empty configuration would make the runtime use the host's.
    if (path === '') {
      const servers = hostIPs().map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'));
      return Promise.resolve({ servers, searches: ['.'], options: [] });
    }
    if (cache === undefined || clock.monotonic() - cache.at > hostDNSMs) {
      cache = { at: clock.monotonic(), config: hostDNS(path) };
    }
    return cache.config;
  };
}

async function hostDNS(path: string): Promise<DNSConfig> {
  try {
    return parseResolvConf(await readFile(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { servers: [], searches: [], options: [] };
    throw error;
  }
}
