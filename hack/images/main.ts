/**
 * Writes OCI archives of the daemons: `node main.js FILE [--plain] [--own] [--machine=ARCH=FOLDER]…`, uncompressed with
 * `--plain`. They contain only files of this machine and of unpacked packages of others (hack/foreign-machine.sh), so that no
 * container engine is needed; several machines make images for several architectures. The same files give the same bytes. Programs run as an unprivileged
 * user, except for those that manage the node or its network.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { argv, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { daemonEnvironment, daemonNodeFlags } from '#daemon/memory/node-flags.js';
import { type ImageDefinition, imageArchive } from '#nodeagent/images/archive.js';
import type { TarEntry } from '#nodeagent/images/tar.js';
import { foreignMachine, type Machine, ownMachine, sharedLibraries } from './machine.js';
import { nodeFiles } from './node-files.js';
import { programFile, systemFiles, toolFile } from './runtime-files.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const user = { name: 'orch', id: 65_532 };
/** Where the project is in the images. */
const home = 'opt/orch';

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

/** Files that programs read while they run, without documentation. */
function projectFiles(): TarEntry[] {
  // Files of older builds may be beside them.
  const bundled = JSON.parse(readFileSync(join(root, 'dist/bundle.json'), 'utf8')) as readonly string[];
  const bundles = bundled.filter((path) => !path.endsWith('.map')).map((path) => join(root, path));
  const others = ['dist/build.json', 'package.json', 'examples/web.yaml'].map((path) => join(root, path));
  return [...bundles, ...others].sort().map((path) => ({
    type: 'file',
    path: `${home}/${relative(root, path)}`,
    mode: 0o644,
    data: readFileSync(path),
  }));
}

const node = 'usr/bin/node';
const system = systemFiles(user);
const projectLayer = projectFiles();

/** Of every program, beside its path. */
const environment = ['HOME=/tmp', ...Object.entries(daemonEnvironment).map(([name, value]) => `${name}=${value}`)];

interface ProgramImageOptions {
  readonly nodeFlags?: readonly string[];
  /** Programs of this machine that it starts. */
  readonly tools?: readonly string[];
  readonly user?: number;
}

/** The images of one architecture. */
function imagesOf(machine: Machine): ImageDefinition[] {
  const nodeLayer = [...system, ...sharedLibraries(machine, [machine.node]), programFile(machine.node, node)];
  const withTools = (names: readonly string[]) => {
    const paths = names.map(machine.pathOf);
    return [...sharedLibraries(machine, paths), ...paths.map(toolFile)];
  };
  /** An image of one program: the files that all images have, and the command that starts it. */
  const programImage = (name: string, options: ProgramImageOptions = {}): ImageDefinition => {
    const { nodeFlags = [], tools = [], user: id = user.id } = options;
    return {
      name: `docker.io/orch/${name}:${version}`,
      below: tools.length === 0 ? [nodeLayer] : [nodeLayer, withTools(tools)],
      files: projectLayer,
      entrypoint: [`/${node}`, ...nodeFlags, `/${home}/dist/bundle/${name}/main.js`],
      env: ['PATH=/usr/bin', ...environment],
      user: `${id}:${id}`,
    };
  };
  /** As `bin/*` start it. */
  const daemonImage = (name: string, options: ProgramImageOptions = {}): ImageDefinition =>
    programImage(name, { ...options, nodeFlags: daemonNodeFlags(name) });
  const etcdPrograms = ['etcd', 'etcdctl'].map(machine.pathOf);
  return [
    ...['orch-apiserver', 'orch-controller-manager', 'orch-scheduler', 'orch-ingress'].map((name) => daemonImage(name)),
    programImage('orchctl'),
    // It restores backups with etcd's own tool.
    programImage('orch', { tools: ['etcdctl'] }),
    // It changes tables of the node's kernel, so its pod needs the capability NET_ADMIN.
    daemonImage('orch-proxy', { tools: ['nft', 'conntrack'], user: 0 }),
    // A whole node, in a privileged container.
    {
      ...programImage('orch', { user: 0 }),
      name: `docker.io/orch/orch-node:${version}`,
      below: [nodeLayer, nodeFiles(join(root, 'hack/images/node'), machine)],
      entrypoint: ['/usr/bin/start-node'],
      env: ['PATH=/usr/sbin:/usr/bin:/bin', ...environment],
    },
    {
      name: `docker.io/orch/etcd:${version}`,
      below: [[...system, ...sharedLibraries(machine, etcdPrograms)]],
      files: etcdPrograms.map(toolFile),
      entrypoint: ['/usr/bin/etcd'],
      env: ['PATH=/usr/bin'],
      user: `${user.id}:${user.id}`,
    },
  ];
}

function machinesOf(options: readonly string[]): Machine[] {
  const machines = options.flatMap((option) => {
    const [, arch, folder] = /^--machine=(\w+)=(.+)$/.exec(option) ?? [];
    if (arch !== undefined && folder !== undefined) return [foreignMachine(arch, folder)];
    return option === '--own' ? [ownMachine()] : [];
  });
  return machines.length === 0 ? [ownMachine()] : machines;
}

const [, , file, ...options] = argv;
const target = file ?? join(root, 'dist/images.tar');
mkdirSync(dirname(target), { recursive: true });
const platforms = machinesOf(options).map((machine) => ({ arch: machine.arch, images: imagesOf(machine) }));
const archive = imageArchive(platforms, { compress: !options.includes('--plain') });
writeFileSync(target, archive);
for (const { name } of platforms[0]?.images ?? []) stdout.write(`${name}\n`);
stdout.write(`${target}: ${(archive.length / 1e6).toFixed(1)} MB\n`);
