/** What this machine can do, found out before anything is started. */
import { findProgram } from '#cmd/orch/process/find-program.js';

/** A program that a part of the cluster needs, and the Debian package that has it. */
interface Need {
  readonly program: string;
  readonly debianPackage: string;
}

const etcdNeeds: readonly Need[] = [{ program: 'etcd', debianPackage: 'etcd-server' }];
const runtimeNeeds: readonly Need[] = [
  { program: 'containerd', debianPackage: 'containerd' },
  { program: 'runc', debianPackage: 'runc' },
  { program: '/usr/lib/cni/bridge', debianPackage: 'containernetworking-plugins' },
  { program: 'iptables', debianPackage: 'iptables' },
  { program: 'ip', debianPackage: 'iproute2' },
  { program: '/bin/busybox', debianPackage: 'busybox-static' },
];

const serviceNeeds: readonly Need[] = [{ program: 'nft', debianPackage: 'nftables' }];

function missing(needs: readonly Need[], path: string): string[] {
  return needs.filter((need) => findProgram(need.program, path) === undefined).map((need) => need.debianPackage);
}

/** Undefined when real containers can run here, else the reason in one line. */
export function whyNoContainers(options: { path: string; isRoot: boolean }): string | undefined {
  if (process.platform !== 'linux') return 'containers need Linux';
  if (!options.isRoot) return 'containers need root';
  const packages = missing(runtimeNeeds, options.path);
  return packages.length === 0 ? undefined : `missing packages: ${packages.join(' ')} (names as in Debian 12)`;
}

/** Undefined when a node's services and network policies can work here, else the reason in one line. */
export function whyNoServiceProxy(path: string): string | undefined {
  const packages = missing(serviceNeeds, path);
  return packages.length === 0 ? undefined : `missing packages: ${packages.join(' ')} (names as in Debian 12)`;
}

/** Undefined when an etcd can be started here, else what to do. */
export function whyNoEtcd(path: string): string | undefined {
  const packages = missing(etcdNeeds, path);
  if (packages.length === 0) return undefined;
  return `missing package: ${packages.join(' ')} (name as in Debian 12); or give --etcd-servers, or --store memory`;
}
