/** Sysctls that pods may set: safe ones, and those that the node's options allow. */
import type { Pod } from '#api/core/v1/types.gen.js';

/** Kernel namespace that isolates a sysctl per pod. */
type Namespace = 'ipc' | 'net';

/** Safe sysctls of release 1.24. */
const safe = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_syncookies',
];

const namespaces: readonly (readonly [prefix: string, namespace: Namespace])[] = [
  ['kernel.shm', 'ipc'],
  ['kernel.msg', 'ipc'],
  ['fs.mqueue.', 'ipc'],
  ['net.', 'net'],
];

function namespaceOf(name: string): Namespace | undefined {
  return name === 'kernel.sem' ? 'ipc' : namespaces.find(([prefix]) => name.startsWith(prefix))?.[1];
}

/** `net/ipv4/a.b` is `net.ipv4.a/b`: the first separator is the one between its parts. */
export function dottedSysctl(name: string): string {
  if (!/^[^.]*\//.test(name)) return name;
  return name.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

/** One message for each name or prefix (`net.*`) that the kernel does not namespace. */
export function allowedSysctlErrors(allowed: readonly string[]): string[] {
  return allowed
    .filter((pattern) => namespaceOf(dottedSysctl(pattern.replace(/\*$/, ''))) === undefined)
    .map((pattern) => `the sysctl ${JSON.stringify(pattern)} is not known to be namespaced`);
}

/** Why the pod may not set one of its sysctls; undefined if it may set all. `allowed`: names and prefixes. */
export function forbiddenSysctl({ spec }: Pod, allowed: readonly string[]): string | undefined {
  const patterns = [...safe, ...allowed.map(dottedSysctl)];
  for (const { name: configuredName } of spec.securityContext?.sysctls ?? []) {
    const name = dottedSysctl(configuredName);
    const isAllowed = patterns.some((each) =>
      each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each,
    );
    if (!isAllowed) return `forbidden sysctl: ${JSON.stringify(name)} not allowlisted`;
    const namespace = namespaceOf(name);
    const isHosts = (namespace === 'net' && spec.hostNetwork) || (namespace === 'ipc' && spec.hostIPC);
    if (isHosts) return `forbidden sysctl: ${JSON.stringify(name)} not allowed with host ${namespace} enabled`;
  }
  return undefined;
}
