/** Builds OCI image archives, for clusters without a registry. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type TarEntry, tar } from '#nodeagent/images/tar.js';

export interface ImageDefinition {
  /** Full reference, such as `docker.io/orch/pause:1.0`. */
  readonly name: string;
  /** Layers below that of `files`, lowest first; shared layers are the same array. */
  readonly below?: readonly (readonly TarEntry[])[];
  readonly files: readonly TarEntry[];
  readonly entrypoint: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: readonly string[];
  readonly workingDir?: string;
  readonly user?: string;
}

/** Names of processors differ between Node.js and OCI. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
  compressedLayer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

interface Blob {
  readonly digest: string;
  readonly data: Buffer;
}

function blob(content: Buffer | object): Blob {
  const data = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  return { digest: `sha256:${createHash('sha256').update(data).digest('hex')}`, data };
}

const descriptor = (mediaType: string, { digest, data }: Blob) => ({ mediaType, digest, size: data.length });

interface Layer extends Blob {
  /** Digest of the uncompressed layer. */
  readonly diffId: string;
}

/** The images of one architecture. */
export interface PlatformImages {
  /** Node.js's name, as `process.arch`. */
  readonly arch: string;
  readonly images: readonly ImageDefinition[];
}

export interface ArchiveOptions {
  /** Whether layers are compressed, for transfer over a network. */
  readonly compress?: boolean;
}

/**
 * Builds one archive of several images; shared layers are stored once. Images of the same name for several architectures become
 * one, out of which a runtime takes its own. Deterministic.
 */
export function imageArchive(platforms: readonly PlatformImages[], { compress = false }: ArchiveOptions = {}): Buffer {
  const blobs = new Map<string, Blob>();
  const keep = (b: Blob): Blob => {
    blobs.set(b.digest, b);
    return b;
  };
  const layers = new Map<readonly TarEntry[], Layer>();
  const layerOf = (files: readonly TarEntry[]): Layer => {
    const existing = layers.get(files);
    if (existing !== undefined) return existing;
    const plain = blob(tar(files));
    const layer = { ...keep(compress ? blob(gzipSync(plain.data, { level: 9 })) : plain), diffId: plain.digest };
    layers.set(files, layer);
    return layer;
  };
  const manifestOf = (image: ImageDefinition, architecture: string) => {
    const imageLayers = [...(image.below ?? []), image.files].map(layerOf);
    const config = keep(
      blob({
        created: '1970-01-01T00:00:00Z',
        architecture,
        os: 'linux',
        config: {
          Entrypoint: image.entrypoint,
          ...(image.cmd === undefined ? {} : { Cmd: image.cmd }),
          Env: image.env ?? ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
          ...(image.workingDir === undefined ? {} : { WorkingDir: image.workingDir }),
          ...(image.user === undefined ? {} : { User: image.user }),
        },
        rootfs: { type: 'layers', diff_ids: imageLayers.map(({ diffId }) => diffId) },
      }),
    );
    const manifest = keep(
      blob({
        schemaVersion: 2,
        mediaType: mediaTypes.manifest,
        config: descriptor(mediaTypes.config, config),
        layers: imageLayers.map((layer) => descriptor(compress ? mediaTypes.compressedLayer : mediaTypes.layer, layer)),
      }),
    );
    return { ...descriptor(mediaTypes.manifest, manifest), platform: { architecture, os: 'linux' } };
  };
  const byName = new Map<string, ReturnType<typeof manifestOf>[]>();
  for (const { arch, images } of platforms) {
    for (const image of images) {
      const manifest = manifestOf(image, architectures[arch] ?? arch);
      byName.set(image.name, [...(byName.get(image.name) ?? []), manifest]);
    }
  }
  const manifests = [...byName].map(([name, list]) => {
    const index = () => blob({ schemaVersion: 2, mediaType: mediaTypes.index, manifests: list });
    const [only] = list;
    const target = list.length === 1 && only !== undefined ? only : descriptor(mediaTypes.index, keep(index()));
    const tag = name.slice(name.lastIndexOf(':') + 1);
    return { ...target, annotations: { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': tag } };
  });
  const file = (path: string, content: Buffer | object): TarEntry => ({
    type: 'file',
    path,
    mode: 0o644,
    data: Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content)),
  });
  return tar([
    file('oci-layout', { imageLayoutVersion: '1.0.0' }),
    file('index.json', { schemaVersion: 2, manifests }),
    ...[...blobs.values()].map((b) => file(`blobs/sha256/${b.digest.slice('sha256:'.length)}`, b.data)),
  ]);
}
