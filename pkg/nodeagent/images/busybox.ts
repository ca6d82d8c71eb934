/** The initial images of a new cluster, built from a statically linked busybox. */
import { readFile, writeFile } from 'node:fs/promises';
import { type ImageDefinition, imageArchive } from '#nodeagent/images/archive.js';
import type { TarEntry } from '#nodeagent/images/tar.js';

/** Applets with their own names in the images. */
const applets =
  `sh ash cat ls echo env sleep true false test httpd wget nc nslookup ping ps kill id hostname date head tail grep sed
   awk cut sort wc mkdir rm cp mv ln touch chmod chown stat df du mount umount find xargs seq printf tee tr vi top
   ip ifconfig route netstat uname whoami dd sha256sum base64 tar gzip gunzip stty trap usleep timeout yes`.split(
    /\s+/,
  );

const passwd = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n';
const group = 'root:x:0:\nnobody:x:65534:\n';

/** Serves a page that names the pod. The shell is process 1, so it forwards signals. */
const webEntrypoint = `#!/bin/sh
trap 'kill $!; exit 0' TERM INT
echo "\${GREETING:-Hello} from $(hostname)" > /www/index.html
echo "serving on port \${PORT:-8080}"
httpd -f -v -p "\${PORT:-8080}" -h /www &
wait $!
`;

function busyboxFiles(busybox: Buffer): TarEntry[] {
  const directory = (path: string, mode = 0o755): TarEntry => ({ type: 'directory', path, mode });
  const text = (path: string, content: string, mode = 0o644): TarEntry => ({
    type: 'file',
    path,
    mode,
    data: Buffer.from(content),
  });
  return [
    ...['bin', 'dev', 'etc', 'proc', 'root', 'sys', 'usr', 'usr/bin', 'var', 'var/run', 'www'].map((d) => directory(d)),
    directory('tmp', 0o1777),
    { type: 'file', path: 'bin/busybox', mode: 0o755, data: busybox },
    ...applets.map((name): TarEntry => ({ type: 'link', path: `bin/${name}`, target: 'busybox' })),
    text('etc/passwd', passwd),
    text('etc/group', group),
    text('bin/web', webEntrypoint, 0o755),
  ];
}

export interface ClusterImages {
  readonly pause: string;
  readonly web: string;
  /** The next version of the same program, for rolling updates. */
  readonly webNext: string;
  readonly busybox: string;
}

/** References of the cluster's own images. `product`: the dialect's, first part of the repository. */
export function clusterImages(product: string): ClusterImages {
  return {
    pause: `docker.io/${product}/pause:1.0`,
    web: `docker.io/${product}/web:1.0`,
    webNext: `docker.io/${product}/web:2.0`,
    busybox: `docker.io/${product}/busybox:1.0`,
  };
}

/** The definitions of the pause image, the web server (port 8080, or `PORT`) and a plain busybox. */
export function clusterImageDefinitions(product: string, busybox: Buffer): ImageDefinition[] {
  const files = busyboxFiles(busybox);
  const names = clusterImages(product);
  return [
    { name: names.pause, files, entrypoint: ['/bin/sleep', '2147483647'], user: '65534:65534' },
    { name: names.web, files, entrypoint: ['/bin/web'], env: ['VERSION=1.0'] },
    { name: names.webNext, files, entrypoint: ['/bin/web'], env: ['VERSION=2.0'] },
    { name: names.busybox, files, entrypoint: [], cmd: ['/bin/sh'] },
  ];
}

export interface BuildImageArchiveOptions {
  /** Path of the archive to write. */
  readonly file: string;
  readonly product: string;
  /** A statically linked busybox; default `/bin/busybox` of the package busybox-static. */
  readonly busybox?: string;
  readonly arch?: string;
}

/** Writes the archive of the cluster's images and returns their names. */
export async function buildImageArchive(options: BuildImageArchiveOptions): Promise<ClusterImages> {
  const busybox = await readFile(options.busybox ?? '/bin/busybox');
  const images = clusterImageDefinitions(options.product, busybox);
  const archive = imageArchive([{ arch: options.arch ?? process.arch, images }]);
  await writeFile(options.file, archive);
  return clusterImages(options.product);
}
