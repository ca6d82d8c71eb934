/** Builds a pod's `/etc/hosts`. */
import type { Pod } from '#api/core/v1/types.gen.js';

export interface HostsFileInput {
  readonly pod: Pod;
  readonly podIPs: readonly string[];
  readonly hostname: string;
  /** Hostname with subdomain and cluster domain; empty for none. */
  readonly hostDomain: string;
  /** The node's `/etc/hosts`, for pods on the host's network. */
  readonly hostFile: string;
  /** The product's name for the first line of the file. */
  readonly productName: string;
}

const localLines = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

export function hostsFile(input: HostsFileInput): string {
  const { pod, podIPs, hostname, hostDomain, productName } = input;
  const title = `# ${productName}-managed hosts file`;
  let text: string;
  if (pod.spec.hostNetwork === true) text = `${title} (host network).\n${input.hostFile}`;
  else {
    const names = hostDomain === '' ? hostname : `${hostDomain}\t${hostname}`;
    text = `${[`${title}.`, ...localLines, ...podIPs.map((ip) => `${ip}\t${names}`)].join('\n')}\n`;
  }
  const aliases = pod.spec.hostAliases ?? [];
  if (aliases.length === 0) return text;
  const lines = aliases.map(({ ip = '', hostnames = [] }) => `${ip}\t${hostnames.join('\t')}`);
  return `${text}\n# Entries added by HostAliases.\n${lines.join('\n')}\n`;
}

/** Limit of host names. */
const maxHostname = 63;

/** The pod's hostname, and its fully qualified name if it has a subdomain. */
export function podHostname(pod: Pod, clusterDomain: string): { hostname: string; hostDomain: string } {
  const { hostname, subdomain, setHostnameAsFQDN } = pod.spec;
  const name = (hostname !== undefined && hostname !== '' ? hostname : (pod.metadata.name ?? ''))
    .slice(0, maxHostname)
    .replace(/[-.]+$/, '');
  if (subdomain === undefined || subdomain === '') return { hostname: name, hostDomain: '' };
  const hostDomain = `${name}.${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}`;
  return { hostname: setHostnameAsFQDN === true ? hostDomain : name, hostDomain };
}
