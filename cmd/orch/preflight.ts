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

/** Debian packages of what a machine lacks to be a node, or one more server; each once. */
export function missingPackages(path: string, { server }: { readonly server: boolean }): string[] {
  return missing([...runtimeNeeds, ...serviceNeeds, ...(server ? etcdNeeds : [])], path);
}

/** Undefined when none is missing, else which and how they are installed, in one line. */
function lackOf(packages: readonly string[], path: string): string | undefined {
  if (packages.length === 0) return undefined;
  const names = packages.join(' ');
  return findProgram('apt-get', path) === undefined
    ? `missing packages: ${names} (names as in Debian 12)`
    : `missing packages: ${names}; install them: apt-get install --no-install-recommends ${names}`;
}

/** Undefined when real containers can run here, else the reason in one line. */
export function whyNoContainers(options: { path: string; isRoot: boolean }): string | undefined {
  if (process.platform !== 'linux') return 'containers need Linux';
  if (!options.isRoot) return 'containers need root';
  if (missing(runtimeNeeds, options.path).length === 0) return undefined;
  // Whoever installs some can install the rest at once.
  return lackOf(missingPackages(options.path, { server: false }), options.path);
}

/** Undefined when a node's services and network policies can work here, else the reason in one line. */
export function whyNoServiceProxy(path: string): string | undefined {
  return lackOf(missing(serviceNeeds, path), path);
}

/** Undefined when an etcd can be started here, else what to do. */
export function whyNoEtcd(path: string): string | undefined {
  const lack = lackOf(missing(etcdNeeds, path), path);
  return lack === undefined ? undefined : `${lack}; or give --etcd-servers, or --store memory`;
}
