/**
 * Builds the images of the conformance suite from its published programs and this machine's, without a registry. Web
 * servers are busybox's, which suffices for the suite.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ImageDefinition, imageArchive } from '#nodeagent/images/archive.js';
import type { TarEntry } from '#nodeagent/images/tar.js';
import { librariesOf, pathOf, programFile } from '../../../hack/images/runtime-files.js';

const busybox = '/bin/busybox';
const setUserId = 0o4755;
const page = '<html><body><h1>It works!</h1></body></html>\n';
/** Debian's folder name for this machine's libraries. */
const multiarch = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;

/** Folders that hack/build-outsiders.sh has filled. */
export interface ImageParts {
  /** The suite's programs, such as `agnhost`. */
  readonly bin: string;
  /** Unpacked Debian packages. */
  readonly debian: string;
  /** The published module. */
  readonly release: string;
}

/** An OCI archive of the images that can be built. @param names Full references, as in the suite's list. */
export function conformanceImages(names: readonly string[], parts: ImageParts): Buffer {
  const makers = makersOf(parts);
  const images = names.flatMap((name): ImageDefinition[] => {
    const make = makers[baseOf(name)];
    return make === undefined ? [] : [{ name, ...make }];
  });
  return imageArchive([{ arch: process.arch, images }]);
}

/** The last part of the repository name. */
function baseOf(name: string): string {
  return /([^/:]+):[^/:]+$/.exec(name)?.[1] ?? name;
}

function makersOf({ bin, debian, release }: ImageParts): Readonly<Record<string, Omit<ImageDefinition, 'name'>>> {
  const shell = shellFiles();
  const own = (name: string, at = name): TarEntry[] => {
    const source = join(bin, name);
    return [...libraries([source], ''), programFile(source, at)];
  };
  const tools = ['bash', 'curl', 'getent', 'ss'].map(pathOf).map((path) => ({ path, root: '' }));
  for (const name of ['usr/bin/dig', 'usr/bin/nslookup', 'usr/bin/host', 'usr/bin/iperf', 'bin/nc.openbsd'])
    tools.push({ path: join(debian, name), root: debian });
  const toolFiles = tools.flatMap(({ path, root }) => [
    ...libraries([path], root),
    programFile(path, `usr/bin/${basename(path, '.openbsd')}`),
  ]);
  const agnhostFiles: TarEntry[] = [
    ...own('agnhost'),
    { type: 'link', path: 'agnhost-2', target: 'agnhost' },
    { type: 'directory', path: 'uploads', mode: 0o777 },
    ...['localhost.crt', 'localhost.key'].map((name) => textOf(release, `test/images/agnhost/porter/${name}`, name)),
  ];
  const below = [shell, distinct(toolFiles)];
  const agnhost = { below, files: distinct(agnhostFiles), entrypoint: ['/agnhost'], cmd: ['pause'] };
  const pages = (kind: string) => ({
    ...agnhost,
    files: [
      ...agnhost.files,
      ...['data.json', `${kind}.jpg`].map((name) => textOf(release, `test/images/${kind}/html/${name}`, name)),
    ],
    cmd: ['test-webserver'],
  });
  // The suite removes and restores a page at the path that the original image uses.
  const web = (folder: string) => ({
    below: [shell],
    files: [{ type: 'file', path: `${folder}/index.html`, mode: 0o644, data: Buffer.from(page) } as const],
    entrypoint: [],
    cmd: ['/bin/httpd', '-f', '-p', '80', '-h', `/${folder}`],
  });
  const plain = { below: [shell], files: [], entrypoint: [], cmd: ['/bin/sh'] };
  return {
    agnhost,
    'jessie-dnsutils': { ...agnhost, entrypoint: [], cmd: [] },
    pause: { files: agnhost.files, entrypoint: ['/agnhost', 'pause'], user: '65535:65535' },
    kitten: pages('kitten'),
    nautilus: pages('nautilus'),
    // busybox's own shell at /bin/sh; `sh` from PATH is bash, since the suite needs all variables there.
    busybox: {
      ...plain,
      files: [{ type: 'link', path: 'bin/sh', target: 'busybox' }, programFile(pathOf('bash'), 'usr/local/bin/sh')],
    },
    nonroot: { ...plain, user: '1234' },
    nonewprivs: {
      below: [shell],
      files: [
        ...own('nonewprivs', 'usr/local/bin/nnp').map((file) =>
          file.path === 'usr/local/bin/nnp' && file.type === 'file' ? { ...file, mode: setUserId } : file,
        ),
      ],
      entrypoint: [],
      cmd: ['/usr/local/bin/nnp'],
    },
    httpd: web('usr/local/apache2/htdocs'),
    nginx: web('usr/share/nginx/html'),
    etcd: {
      below: [shell],
      files: [...libraries([pathOf('etcd')], ''), programFile(pathOf('etcd'), 'usr/local/bin/etcd')],
      entrypoint: [],
    },
    'sample-apiserver': { files: own('sample-apiserver'), entrypoint: ['/sample-apiserver'] },
  };
}

function textOf(release: string, path: string, name: string): TarEntry {
  return { type: 'file', path: name, mode: 0o644, data: readFileSync(join(release, path)) };
}

/** Shared libraries at the loader's paths; the prefix `root` is removed. */
function libraries(programs: readonly string[], root: string): TarEntry[] {
  const folders = root === '' ? [] : [join(root, 'usr', 'lib', multiarch)];
  return programs
    .flatMap((program) => librariesOf(program, folders))
    .map((path) => programFile(path, path.replace(root, '').replace(/^\//, '')));
}

function distinct(files: readonly TarEntry[]): TarEntry[] {
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

/** busybox with all of its applets, and files that programs expect of a system. */
function shellFiles(): TarEntry[] {
  const directory = (path: string, mode = 0o755): TarEntry => ({ type: 'directory', path, mode });
  const text = (path: string, content: string): TarEntry => ({
    type: 'file',
    path,
    mode: 0o644,
    data: Buffer.from(content),
  });
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const folders = ['bin', 'dev', 'etc', 'proc', 'root', 'sys', 'usr', 'usr/bin', 'usr/local', 'usr/local/bin', 'var'];
  return [
    ...folders.map((path) => directory(path)),
    directory('tmp', 0o1777),
    programFile(busybox, 'bin/busybox'),
    // busybox's shell prefers applets to programs in PATH, and drops variables with invalid names.
    ...libraries([pathOf('bash')], ''),
    programFile(pathOf('bash'), 'bin/sh'),
    ...applets
      .filter((name) => name !== 'busybox' && name !== 'sh')
      .map((name): TarEntry => ({ type: 'link', path: `bin/${name}`, target: 'busybox' })),
    text('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n'),
    text('etc/group', 'root:x:0:\nnobody:x:65534:\n'),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
  ];
}
