/**
 * Writes OCI archives of the daemons: `node main.js FILE [--plain]`, plain ones without compressing them. Nothing but files of this machine goes into them, so that no
 * container engine is needed; the same files give the same bytes. Programs run as a user without rights, but for those whose
 * work is the node's network, or the node.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { arch, argv, execPath, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { daemonEnvironment, daemonNodeFlags } from '#daemon/memory/node-flags.js';
import { type ImageDefinition, imageArchive } from '#nodeagent/images/archive.js';
import type { TarEntry } from '#nodeagent/images/tar.js';
import { nodeFiles } from './node-files.js';
import { pathOf, programFile, sharedLibraries, systemFiles, toolFile } from './runtime-files.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const user = { name: 'orch', id: 65_532 };
/** Where the project is in the images. */
const home = 'opt/orch';

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

/** Files that programs read while they run, without what only people read. */
function projectFiles(): TarEntry[] {
  // Those of older builds may be beside them.
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
const nodeLayer = [...system, ...sharedLibraries([execPath]), programFile(execPath, node)];
const projectLayer = projectFiles();

/** Of every program, beside its path. */
const environment = ['HOME=/tmp', ...Object.entries(daemonEnvironment).map(([name, value]) => `${name}=${value}`)];

interface ProgramImageOptions {
  readonly nodeFlags?: readonly string[];
  /** Programs of this machine that it starts. */
  readonly tools?: readonly string[];
  readonly user?: number;
}

/** A program of the project: its image is what all have, and how it is started. */
function programImage(name: string, options: ProgramImageOptions = {}): ImageDefinition {
  const { nodeFlags = [], tools = [], user: id = user.id } = options;
  const paths = tools.map(pathOf);
  return {
    name: `docker.io/orch/${name}:${version}`,
    below: tools.length === 0 ? [nodeLayer] : [nodeLayer, [...sharedLibraries(paths), ...paths.map(toolFile)]],
    files: projectLayer,
    entrypoint: [`/${node}`, ...nodeFlags, `/${home}/dist/bundle/${name}/main.js`],
    env: ['PATH=/usr/bin', ...environment],
    user: `${id}:${id}`,
  };
}

/** As `bin/*` start it. */
function daemonImage(name: string, options: ProgramImageOptions = {}): ImageDefinition {
  return programImage(name, { ...options, nodeFlags: daemonNodeFlags(name) });
}

const etcdPrograms = ['etcd', 'etcdctl'].map(pathOf);

const images: ImageDefinition[] = [
  ...['orch-apiserver', 'orch-controller-manager', 'orch-scheduler', 'orch-ingress'].map((name) => daemonImage(name)),
  ...['orch', 'orchctl'].map((name) => programImage(name)),
  // It changes tables of the node's kernel: whoever runs it gives it the rights of that network's administrator.
  daemonImage('orch-proxy', { tools: ['nft', 'conntrack'], user: 0 }),
  // A node with all that it needs of a machine: in a container with all rights.
  {
    ...programImage('orch', { user: 0 }),
    name: `docker.io/orch/orch-node:${version}`,
    below: [nodeLayer, nodeFiles(join(root, 'hack/images/node'))],
    entrypoint: ['/usr/bin/start-node'],
    env: ['PATH=/usr/sbin:/usr/bin:/bin', ...environment],
  },
  {
    name: `docker.io/orch/etcd:${version}`,
    below: [[...system, ...sharedLibraries(etcdPrograms)]],
    files: etcdPrograms.map(toolFile),
    entrypoint: ['/usr/bin/etcd'],
    env: ['PATH=/usr/bin'],
    user: `${user.id}:${user.id}`,
  },
];

const [, , file, plain] = argv;
const target = file ?? join(root, 'dist/images.tar');
mkdirSync(dirname(target), { recursive: true });
const archive = imageArchive(images, { arch, compress: plain !== '--plain' });
writeFileSync(target, archive);
for (const { name } of images) stdout.write(`${name}\n`);
stdout.write(`${target}: ${(archive.length / 1e6).toFixed(1)} MB\n`);
