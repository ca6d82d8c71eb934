/** The files of a machine that a node's image contains: container runtime, network, and the tools of the agent. */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TarEntry } from '#nodeagent/images/tar.js';
import { imagePath, type Machine, sharedLibraries } from './machine.js';
import { programFile, toolFile } from './runtime-files.js';

/** Programs of the machine; on Debian 12 those of `hack/install-packages.sh`. */
const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc', 'ip', 'bridge', 'nft', 'conntrack'].concat([
  'mount',
  'umount',
  'unshare',
  'rm',
  'du',
  'prlimit',
]);

const cniDir = '/usr/lib/cni';
const cniPlugins = ['bridge', 'host-local', 'loopback', 'portmap'];

/** Names under which the one program of iptables does all of its work. */
const iptablesNames = ['iptables', 'ip6tables'].flatMap((name) => [name, `${name}-save`, `${name}-restore`]);

/** Applets of busybox: for the script that starts the node, and for operators in a shell. */
const applets = ['sh', 'cat', 'echo', 'grep', 'kill', 'ln', 'ls', 'mkdir', 'ps', 'sleep', 'tail', 'test', 'tr'];

/** The authorities of registries. */
const authorities = '/etc/ssl/certs/ca-certificates.crt';

/** @param own Folder of the project's own files for it. Throws when a program is not installed. */
export function nodeFiles(own: string, machine: Machine): TarEntry[] {
  const paths = programs.map(machine.pathOf);
  const plugins = cniPlugins.map((name) => join(machine.root, cniDir, name));
  const iptables = realpathSync(machine.pathOf('iptables'));
  const extensions = extensionsOf(iptables, machine);
  const link = (path: string, target: string): TarEntry => ({ type: 'link', path, target });
  return [
    ...sharedLibraries(machine, [...paths, ...plugins, iptables, ...extensions]),
    ...[...paths, iptables].map(toolFile),
    ...iptablesNames.map((name) => link(`usr/bin/${name}`, basename(iptables))),
    ...[...extensions, ...plugins].map((path) => programFile(path, imagePath(machine, path))),
    programFile(machine.pathOf('busybox'), 'bin/busybox'),
    ...applets.map((name) => link(`bin/${name}`, 'busybox')),
    programFile(join(own, 'start.sh'), 'usr/bin/start-node'),
    ...(existsSync(authorities) ? [textFile(authorities)] : []),
    // Where programs keep what is for this start only; containerd asks for it by its old name.
    { type: 'directory', path: 'run', mode: 0o755 },
    link('var/run', '../run'),
  ];
}

/** Matches and targets of iptables are libraries that it looks for in a folder beside its own. */
function extensionsOf(iptables: string, machine: Machine): string[] {
  const [library] = machine.librariesOf(iptables).filter((path) => basename(path).startsWith('libxtables.'));
  if (library === undefined) return [];
  const folder = join(dirname(realpathSync(library)), 'xtables');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.so'))
    .map((name) => join(folder, name));
}

function textFile(path: string): TarEntry {
  return { type: 'file', path: path.slice(1), mode: 0o644, data: readFileSync(path) };
}
