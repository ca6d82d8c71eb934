/**
 * Writes OCI archives of the daemons: `node main.js FILE [--plain]`, plain ones without compressing them. Nothing but files of this machine goes into them, so that no
 * container engine is needed; the same files give the same bytes. Programs run as a user without rights.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { arch, argv, execPath, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { type ImageDefinition, imageArchive } from '#nodeagent/images/archive.js';
import type { TarEntry } from '#nodeagent/images/tar.js';
import { programFile, sharedLibraries, systemFiles } from './runtime-files.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const user = { name: 'orch', id: 65_532 };
/** Where the project is in the images. */
const home = 'opt/orch';

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

/** Files that programs read while they run, without what only people read. */
function projectFiles(): TarEntry[] {
  const bundles = filesBelow(join(root, 'dist/bundle')).filter((path) => /\.(js|proto)$/.test(path));
  const others = ['dist/build.json', 'package.json', 'examples/web.yaml'].map((path) => join(root, path));
  return [...bundles, ...others].sort().map((path) => ({
    type: 'file',
    path: `${home}/${relative(root, path)}`,
    mode: 0o644,
    data: readFileSync(path),
  }));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

const node = 'usr/bin/node';
const system = systemFiles(user);
const nodeLayer = [...system, ...sharedLibraries([execPath]), programFile(execPath, node)];
const projectLayer = projectFiles();

/** A program of the project: its image is what all have, and how it is started. */
function programImage(
  name: string,
  { nodeFlags = [] }: { readonly nodeFlags?: readonly string[] } = {},
): ImageDefinition {
  return {
    name: `docker.io/orch/${name}:${version}`,
    below: [nodeLayer],
    files: projectLayer,
    entrypoint: [`/${node}`, ...nodeFlags, `/${home}/dist/bundle/${name}/main.js`],
    env: ['PATH=/usr/bin', 'HOME=/tmp', 'MALLOC_TRIM_THRESHOLD_=1048576'],
    user: `${user.id}:${user.id}`,
  };
}

const etcdPrograms = ['etcd', 'etcdctl'].map((name) => execFileSync('which', [name], { encoding: 'utf8' }).trim());

const images: ImageDefinition[] = [
  // As bin/orch-apiserver starts it.
  programImage('orch-apiserver', { nodeFlags: ['--max-semi-space-size=4'] }),
  ...['orch-controller-manager', 'orch-scheduler', 'orch', 'orchctl'].map((name) => programImage(name)),
  {
    name: `docker.io/orch/etcd:${version}`,
    below: [[...system, ...sharedLibraries(etcdPrograms)]],
    files: etcdPrograms.map((path) => programFile(path, `usr/bin/${path.slice(path.lastIndexOf('/') + 1)}`)),
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
