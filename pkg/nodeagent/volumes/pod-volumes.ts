/** Sets up the volumes of pods: again and again, writing only what changed; and takes them down. */

import { createHash } from 'node:crypto';
import { chown, mkdir } from 'node:fs/promises';
import type { Pod, Volume } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { value } from '#apimachinery/quantity.js';
import type { PodFacts } from '#nodeagent/environment/field-ref.js';
import { mountTmpfs } from '#nodeagent/files/mounts.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { writeAtomically } from '#nodeagent/volumes/atomic-writer.js';
import { checkHostPath } from '#nodeagent/volumes/host-path.js';
import { type Payload, VolumeError, volumePayload } from '#nodeagent/volumes/payload.js';
import { makeWritableDirectory, type PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import type { TokenManager } from '#nodeagent/volumes/tokens.js';

export interface PodVolumesOptions {
  readonly objects: ReferencedObjects;
  readonly tokens: TokenManager;
  /** Absent: references are resolved, nothing is written (nodes without real containers). */
  readonly directories?: PodDirectories;
}

export interface MountedVolumes {
  /** Volume name → path on the host; empty on nodes that write nothing. */
  readonly paths: ReadonlyMap<string, string>;
  /** Instant of the clock that is never set (ms) when a file in one of them is due to be renewed. */
  readonly renewAt?: number;
}

/** Secrets and tokens never reach a disk. */
function inMemory(volume: Volume): boolean {
  return volume.secret !== undefined || volume.projected !== undefined || volume.emptyDir?.medium === 'Memory';
}

/** Name of the plugin in folder names. */
function pluginOf(volume: Volume): string | undefined {
  if (volume.emptyDir !== undefined) return 'empty-dir';
  if (volume.configMap !== undefined) return 'configmap';
  if (volume.secret !== undefined) return 'secret';
  if (volume.projected !== undefined) return 'projected';
  if (volume.downwardAPI !== undefined) return 'downward-api';
  return undefined;
}

function digest(payload: Payload): string {
  const hash = createHash('sha256');
  for (const [path, file] of payload.files)
    hash.update(JSON.stringify([path, file.mode, file.user, file.data.length])).update(file.data);
  return hash.digest('hex');
}

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  /** Pod UID → volume → digest of what was written. */
  readonly #written = new Map<string, Map<string, string>>();

  constructor(options: PodVolumesOptions) {
    this.#options = options;
  }

  /** Idempotent. Throws VolumeError, StatusError or a system error, for the first volume that cannot be set up. */
  async setUp(pod: Pod, facts: PodFacts): Promise<MountedVolumes> {
    const paths = new Map<string, string>();
    let renewAt = Number.POSITIVE_INFINITY;
    const { objects, tokens, directories } = this.#options;
    const sources = directories === undefined ? { objects, facts } : { objects, facts, tokens };
    for (const volume of pod.spec.volumes ?? []) {
      try {
        const payload = await volumePayload(pod, volume, sources);
        renewAt = Math.min(renewAt, payload?.renewAt ?? Number.POSITIVE_INFINITY);
        if (directories !== undefined) paths.set(volume.name, await this.#write(pod, volume, payload, directories));
      } catch (error) {
        const reason = messageOf(error);
        throw new VolumeError(`MountVolume.SetUp failed for volume "${volume.name}" : ${reason}`, { cause: error });
      }
    }
    return Number.isFinite(renewAt) ? { paths, renewAt } : { paths };
  }

  async #write(pod: Pod, volume: Volume, payload: Payload | undefined, directories: PodDirectories): Promise<string> {
    if (volume.hostPath !== undefined) {
      await checkHostPath(volume.hostPath.path, volume.hostPath.type ?? '');
      return volume.hostPath.path;
    }
    const uid = pod.metadata.uid ?? '';
    const plugin = pluginOf(volume);
    if (plugin === undefined) throw new VolumeError('no volume plugin of this node agent handles its source');
    const dir = directories.volume(uid, plugin, volume.name);
    const group = pod.spec.securityContext?.fsGroup;
    const written = this.#written.get(uid) ?? new Map<string, string>();
    this.#written.set(uid, written);
    const known = written.get(volume.name);
    if (known === undefined) {
      await mkdir(dir, { recursive: true, mode: 0o755 });
      if (inMemory(volume)) {
        const limit = volume.emptyDir?.sizeLimit;
        await mountTmpfs(dir, limit === undefined ? undefined : value(limit));
      }
    }
    if (payload === undefined) {
      if (known === undefined) await makeWritableDirectory(dir, group);
      written.set(volume.name, '');
      return dir;
    }
    const wanted = digest(payload);
    if (known !== wanted) {
      if (group !== undefined) await chown(dir, -1, group);
      await writeAtomically(dir, payload.files, group);
      written.set(volume.name, wanted);
    }
    return dir;
  }

  /** Unmounts and removes all of a pod's volumes, and stops watching what they were made of; its other files stay. */
  async release(podUID: string): Promise<void> {
    this.#forget(podUID);
    await this.#options.directories?.removeVolumes(podUID);
  }

  /** The same, and all files of the pod with them. */
  async tearDown(podUID: string): Promise<void> {
    this.#forget(podUID);
    await this.#options.directories?.remove(podUID);
  }

  #forget(podUID: string): void {
    this.#options.objects.release(podUID);
    this.#options.tokens.release(podUID);
    this.#written.delete(podUID);
  }

  /** UIDs of pods that still have a folder. */
  async list(): Promise<string[]> {
    return (await this.#options.directories?.list()) ?? [];
  }
}
