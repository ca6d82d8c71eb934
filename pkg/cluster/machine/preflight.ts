/** Checks which parts of a cluster this machine can run. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

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

/** Debian packages that a machine lacks to be a node, or a server. */
export function missingPackages(path: string, { server }: { readonly server: boolean }): string[] {
  return missing([...runtimeNeeds, ...serviceNeeds, ...(server ? etcdNeeds : [])], path);
}

/** Names missing packages and how to install them, in one line; undefined when none is missing. */
function missingText(packages: readonly string[], path: string): string | undefined {
  if (packages.length === 0) return undefined;
  const names = packages.join(' ');
  return findProgram('apt-get', path) === undefined
    ? `missing packages: ${names} (names as in Debian 12)`
    : `missing packages: ${names}; install them: apt-get install --no-install-recommends ${names}`;
}

/** The reason why real containers cannot run here, in one line; undefined when they can. */
export function whyNoContainers(options: { path: string; isRoot: boolean }): string | undefined {
  if (process.platform !== 'linux') return 'containers need Linux';
  if (!options.isRoot) return 'containers need root';
  if (missing(runtimeNeeds, options.path).length === 0) return undefined;
  // Lists all packages of a node, so that one installation is enough.
  return missingText(missingPackages(options.path, { server: false }), options.path);
}

/** The reason why Services and network policies cannot work here, in one line; undefined when they can. */
export function whyNoServiceProxy(path: string): string | undefined {
  return missingText(missing(serviceNeeds, path), path);
}

/** The reason why etcd cannot be started here, with the remedy; undefined when it can. */
export function whyNoEtcd(path: string): string | undefined {
  const text = missingText(missing(etcdNeeds, path), path);
  return text === undefined ? undefined : `${text}; or give --etcd-servers, or --store memory`;
}

/** Folders of system programs that are not on every user's PATH. */
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** Path of an executable program, by its name or its path; undefined when it is missing. */
export function findProgram(program: string, path: string): string | undefined {
  const candidates = program.startsWith('/')
    ? [program]
    : [...path.split(delimiter), ...systemFolders].map((folder) => join(folder, program));
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
