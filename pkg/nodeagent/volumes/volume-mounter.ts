/** Makes one volume of a pod be there: each kind in its way. */

import { mkdir, open, rmdir, stat } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { dirname } from 'node:path';
import { matchesNodeSelector } from '#api/core/v1/affinity/node-selector.js';
import type { NFSVolumeSource, Node, Pod } from '#api/core/v1/types.gen.js';
import { mountOptionsAnnotation } from '#api/core/v1/volume/storage-class.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import { runMount } from '#nodeagent/files/mount-command.js';
import { mountsOn } from '#nodeagent/files/mounts.js';
import { makeEmptyDir, memoryVolumeBytes } from '#nodeagent/volumes/empty-dir.js';
import { checkHostPath } from '#nodeagent/volumes/host-path.js';
import { LocalVolumes, localDevice } from '#nodeagent/volumes/local-volume.js';
import { giveToGroup } from '#nodeagent/volumes/ownership.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';
import type { VolumeToMount } from '#nodeagent/volumes/volume-to-mount.js';

export interface VolumeMounterOptions {
  readonly dialect: Dialect;
  readonly events: Pick<PodEvents, 'pod'>;
  readonly directories: PodDirectories;
  readonly node: () => Node;
  /** Volumes in memory are limited by the memory of their pod (gate SizeMemoryBackedVolumes). */
  readonly limitsMemory: boolean;
  /** A program that mounts NFS in place of mount(8). */
  readonly mounter?: string;
}

export interface MountInput {
  readonly pod: Pod;
  readonly wanted: VolumeToMount;
  /** Of the node, by resource. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Ends commands that take too long, or when the pod is to end. */
  readonly signal: AbortSignal;
  /** The pod is to end: what goes on in steps, however many, ends. */
  readonly podSignal: AbortSignal;
}

/** What containers are given. */
export interface MountedVolume {
  /** On the host: a directory or file, or a device. */
  readonly path: string;
  readonly kind: 'files' | 'device';
  readonly readOnly: boolean;
  /** That the pod's processes are to be in, by an annotation of the persistent volume. */
  readonly group?: number;
}

/** Sources that take mount options. */
const withOptions = new Set(['local-volume', 'nfs']);

export class VolumeMounter {
  readonly #options: VolumeMounterOptions;
  readonly #locals = new LocalVolumes();
  /** By directory: two volumes of a pod may have the same claim. */
  readonly #making = new Map<string, Promise<void>>();

  constructor(options: VolumeMounterOptions) {
    this.#options = options;
  }

  /** Idempotent. Throws VolumeError, MountInterruptedError or a system error. */
  async mount(input: MountInput): Promise<MountedVolume> {
    const { wanted } = input;
    const plugin = this.#pluginOf(wanted);
    this.#checkNode(wanted);
    if (wanted.isBlock) {
      const path = await localDevice(wanted.source.local?.path ?? '');
      return { path, kind: 'device', readOnly: wanted.readOnly, ...this.#group(wanted) };
    }
    if (this.#mountOptions(wanted).length > 0 && !withOptions.has(plugin)) {
      const stage = 'MountVolume.MountOptionSupport check failed';
      throw new VolumeError('Mount options are not supported for this volume type', { stage });
    }
    const path = await this.#make(input, plugin);
    return { path, kind: 'files', readOnly: wanted.readOnly, ...this.#group(wanted) };
  }

  /** Name of the plugin in folder names. Throws VolumeError where this agent has none. */
  #pluginOf({ source, specName, isBlock, persistent }: VolumeToMount): string {
    const { csi } = source;
    if (csi !== undefined) {
      const at =
        persistent === undefined
          ? 'mounter.SetUpAt failed to get CSI client'
          : 'attacher.MountDevice failed to create newCsiDriverClient';
      const why = `driver name ${csi.driver} not found in the list of registered CSI drivers`;
      const stage = persistent === undefined ? 'MountVolume.SetUp failed' : 'MountVolume.MountDevice failed';
      throw new VolumeError(`${this.#options.dialect.labelDomain}/csi: ${at}: ${why}`, { stage });
    }
    const plugin = pluginNames.find(([field]) => source[field] !== undefined)?.[1];
    if (plugin === undefined) {
      const type = Object.keys(source).find((field) => !besideSource.has(field));
      const why = `no volume plugin matched: this node agent does not mount volumes of type ${type ?? 'unknown'}`;
      throw new VolumeError(`failed to get Plugin from volumeSpec for volume "${specName}" err=${why}`, {
        stage: 'unknown',
      });
    }
    if (isBlock && plugin !== 'local-volume') {
      const why = 'MapVolume.FindMapperPluginBySpec failed to find BlockVolumeMapper plugin. Volume plugin is nil.';
      throw new VolumeError(`${why} for volume "${specName}"`, { stage: 'unknown' });
    }
    return plugin;
  }

  #checkNode({ persistent, isBlock }: VolumeToMount): void {
    const required = persistent?.spec?.nodeAffinity?.required;
    if (required === undefined) return;
    if (matchesNodeSelector(required, this.#options.node())) return;
    const stage = isBlock ? 'MapVolume.NodeAffinity check failed' : 'MountVolume.NodeAffinity check failed';
    throw new VolumeError('no matching NodeSelectorTerms', { stage });
  }

  async #make(input: MountInput, plugin: string): Promise<string> {
    const { pod, wanted } = input;
    const { source, specName } = wanted;
    if (source.hostPath !== undefined) {
      await checkHostPath(source.hostPath.path, source.hostPath.type ?? '');
      return source.hostPath.path;
    }
    const dir = this.#options.directories.volume(pod.metadata.uid ?? '', plugin, specName);
    const before = this.#making.get(dir);
    const making = (before?.catch(() => undefined) ?? Promise.resolve()).then(() =>
      this.#makeDirectory(input, plugin, dir),
    );
    this.#making.set(dir, making);
    try {
      await making;
    } finally {
      if (this.#making.get(dir) === making) this.#making.delete(dir);
    }
    return dir;
  }

  async #makeDirectory(input: MountInput, plugin: string, dir: string): Promise<void> {
    const { pod, wanted, allocatable, signal, podSignal } = input;
    const { directories, limitsMemory, mounter } = this.#options;
    const { source, specName, mountReadOnly: readOnly } = wanted;
    const options = this.#mountOptions(wanted);
    if (source.nfs !== undefined) {
      return mountNFS({ source: source.nfs, readOnly, options, dir, signal, ...(mounter && { mounter }) });
    }
    const mark = directories.volumeMark(pod.metadata.uid ?? '', plugin, specName);
    const { medium = '', sizeLimit } = source.emptyDir ?? {};
    const inMemory = medium === 'Memory' || source.secret !== undefined || source.projected !== undefined;
    const isMount = inMemory || medium !== '' || source.local !== undefined;
    if ((await exists(mark)) && (await exists(dir)) && (!isMount || (await mountsOn(dir)).length > 0)) return;
    if (source.local !== undefined) {
      const { path, fsType = '' } = source.local;
      await this.#locals.mount({ path, fsType, readOnly, options, dir, signal });
      if (!readOnly) await this.#own(pod, wanted, { dir, plugin, signal: podSignal });
    } else {
      const bytes = limitsMemory && inMemory ? memoryVolumeBytes(pod, sizeLimit, allocatable) : undefined;
      await makeEmptyDir(pod, { dir, medium: inMemory ? 'Memory' : medium, bytes });
    }
    await mkdir(dirname(mark), { recursive: true, mode: 0o750 });
    await (await open(mark, 'w', 0o640)).close();
  }

  /** The first pod on the node to use a local volume says whose it is. */
  async #own(
    pod: Pod,
    { specName }: VolumeToMount,
    { dir, plugin, signal }: { readonly dir: string; readonly plugin: string; readonly signal: AbortSignal },
  ): Promise<void> {
    const { directories, events } = this.#options;
    const { fsGroup, fsGroupChangePolicy: policy } = pod.spec.securityContext ?? {};
    if (fsGroup === undefined) return;
    const group = Number(fsGroup);
    const others = await directories.ofOthers(pod.metadata.uid ?? '', plugin, specName);
    const mounted = await Promise.all(others.map(async (other) => (await mountsOn(other)).length > 0));
    if (!mounted.includes(true)) return giveToGroup(dir, { group, policy, signal });
    const { gid } = await stat(dir);
    if (gid === group) return;
    const message = `The requested fsGroup is ${group}, but the volume ${specName} has GID ${gid}. The volume may not be shareable.`;
    events.pod(pod, 'Warning', 'AlreadyMountedVolume', message);
  }

  /** Of a persistent volume; an annotation wins, as in 1.24. */
  #mountOptions({ persistent }: VolumeToMount): readonly string[] {
    const annotation = persistent?.metadata.annotations?.[mountOptionsAnnotation(this.#options.dialect)];
    return annotation === undefined ? (persistent?.spec?.mountOptions ?? []) : annotation.split(',');
  }

  #group({ persistent }: VolumeToMount): { readonly group?: number } {
    const text = persistent?.metadata.annotations?.[this.#options.dialect.annotations.volumeGroup] ?? '';
    return /^\d{1,10}$/.test(text) ? { group: Number(text) } : {};
  }
}

const pluginNames = [
  ['hostPath', 'host-path'],
  ['emptyDir', 'empty-dir'],
  ['configMap', 'configmap'],
  ['secret', 'secret'],
  ['projected', 'projected'],
  ['downwardAPI', 'downward-api'],
  ['local', 'local-volume'],
  ['nfs', 'nfs'],
] as const;

/** Fields of volumes and persistent volumes beside the source itself. */
const besideSource = new Set([
  'name',
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
]);

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

interface NFSMount {
  readonly source: NFSVolumeSource;
  readonly readOnly: boolean;
  readonly options: readonly string[];
  readonly dir: string;
  /** A program that mounts in place of mount(8). */
  readonly mounter?: string;
  readonly signal: AbortSignal;
}

/**
 * Mounts a directory of an NFS server at `dir` by the node's own mount(8) and its helper for nfs, unless something is
 * mounted there. Throws as `runMount`.
 */
async function mountNFS({ source, readOnly, options, dir, signal, mounter }: NFSMount): Promise<void> {
  if ((await mountsOn(dir)).length > 0) return;
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const server = isIPv6(source.server) ? `[${source.server}]` : source.server;
  const all = [...new Set([...options, ...(readOnly ? ['ro'] : [])])];
  try {
    const request = { type: 'nfs', source: `${server}:${source.path}`, target: dir, options: all };
    await runMount({ ...request, ...(mounter && { mounter }) }, signal);
  } catch (error) {
    // Nothing is to look like a volume that is there.
    await rmdir(dir);
    throw error;
  }
}
