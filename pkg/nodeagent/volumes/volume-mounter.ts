/** Mounts single volumes of pods, by their type. */

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
import type { DriverVolumes } from '#nodeagent/volumes/driver-volumes.js';
import { makeEmptyDir, memoryVolumeBytes } from '#nodeagent/volumes/empty-dir.js';
import { checkHostPath } from '#nodeagent/volumes/host-path.js';
import { LocalVolumes, localDevice } from '#nodeagent/volumes/local-volume.js';
import type { MountedVolume } from '#nodeagent/volumes/mounted-volume.js';
import { giveToGroup } from '#nodeagent/volumes/ownership.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';
import type { VolumeToMount } from '#nodeagent/volumes/volume-to-mount.js';

export interface VolumeMounterOptions {
  readonly dialect: Dialect;
  readonly events: Pick<PodEvents, 'pod'>;
  readonly directories: PodDirectories;
  readonly node: () => Node;
  /** Memory volumes are limited to their pod's memory (gate SizeMemoryBackedVolumes). */
  readonly limitsMemory: boolean;
  /** Replaces mount(8) for NFS. */
  readonly mounter?: string;
  /** Volumes of CSI drivers. */
  readonly csi: Pick<DriverVolumes, 'mount'>;
}

export interface MountInput {
  readonly pod: Pod;
  readonly target: VolumeToMount;
  /** The node's allocatable resources. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Ends commands that take too long, or when the pod is to end. */
  readonly signal: AbortSignal;
  /** Ends long multi-step work when the pod is to end. */
  readonly podSignal: AbortSignal;
}

/** Sources that support mount options. */
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
    const { target } = input;
    this.#checkNode(target);
    if (target.source.csi !== undefined) {
      const { csi } = this.#options;
      return { ...(await csi.mount(input)), ...this.#group(target) };
    }
    const plugin = this.#pluginOf(target);
    if (target.isBlock) {
      const path = await localDevice(target.source.local?.path ?? '');
      return { path, kind: 'device', readOnly: target.readOnly, ...this.#group(target) };
    }
    if (this.#mountOptions(target).length > 0 && !withOptions.has(plugin)) {
      const stage = 'MountVolume.MountOptionSupport check failed';
      throw new VolumeError('Mount options are not supported for this volume type', { stage });
    }
    const path = await this.#make(input, plugin);
    return { path, kind: 'files', readOnly: target.readOnly, ...this.#group(target) };
  }

  /** Name of the plugin in directory names. Throws VolumeError for unsupported types. */
  #pluginOf({ source, specName, isBlock }: VolumeToMount): string {
    const plugin = pluginNames.find(([field]) => source[field] !== undefined)?.[1];
    if (plugin === undefined) {
      const type = Object.keys(source).find((field) => !nonSourceFields.has(field));
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
    const { pod, target } = input;
    const { source, specName } = target;
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
    const { pod, target, allocatable, signal, podSignal } = input;
    const { directories, limitsMemory, mounter } = this.#options;
    const { source, specName, mountReadOnly: readOnly } = target;
    const options = this.#mountOptions(target);
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
      if (!readOnly) await this.#setGroup(pod, target, { dir, plugin, signal: podSignal });
    } else {
      const bytes = limitsMemory && inMemory ? memoryVolumeBytes(pod, sizeLimit, allocatable) : undefined;
      await makeEmptyDir(pod, { dir, medium: inMemory ? 'Memory' : medium, bytes });
    }
    await mkdir(dirname(mark), { recursive: true, mode: 0o750 });
    await (await open(mark, 'w', 0o640)).close();
  }

  /** The first pod on the node that uses a local volume sets its group. */
  async #setGroup(
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

  /** Mount options of a persistent volume; its annotation wins, as in 1.24. */
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

/** Fields of volumes and persistent volumes that are not sources. */
const nonSourceFields = new Set([
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
  /** Replaces mount(8). */
  readonly mounter?: string;
  readonly signal: AbortSignal;
}

/**
 * Mounts a directory of an NFS server at `dir` with mount(8) and its NFS helper, unless something is mounted there.
 * Throws as `runMount`.
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
    // An empty directory must not look like a mounted volume.
    await rmdir(dir);
    throw error;
  }
}
