/** Sets up the volumes of pods: again and again, writing only what changed; and takes them down. */

import { createHash } from 'node:crypto';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod, Volume } from '#api/core/v1/types.gen.js';
import { deadline } from '#apimachinery/async/deadline.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import type { PodFacts } from '#nodeagent/environment/field-ref.js';
import { MountInterruptedError } from '#nodeagent/files/mount-command.js';
import { readLastBytes } from '#nodeagent/files/regular-file.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { dataName, expectedMode, versionPrefix, writeAtomically } from '#nodeagent/volumes/atomic-writer.js';
import { type Payload, type PayloadFile, volumePayload } from '#nodeagent/volumes/payload.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import type { TokenManager } from '#nodeagent/volumes/tokens.js';
import {
  type FailedVolume,
  mountTimeoutMs,
  timedOut,
  VolumeError,
  VolumesError,
  volumeEvents,
} from '#nodeagent/volumes/volume-error.js';
import type { MountedVolume, VolumeMounter } from '#nodeagent/volumes/volume-mounter.js';
import {
  type UsedVolumes,
  usedVolumes,
  type VolumeToMount,
  volumeToMount,
} from '#nodeagent/volumes/volume-to-mount.js';

export interface PodVolumesOptions {
  readonly clock: Clock;
  /** For claims and their volumes; absent without an API. */
  readonly client?: Client;
  readonly objects: ReferencedObjects;
  readonly tokens: TokenManager;
  /** Absent, as the mounter: references are resolved, nothing is written (nodes without real containers). */
  readonly directories?: PodDirectories;
  readonly mounter?: VolumeMounter;
  /** Pods that have ended keep their volumes until they are deleted. */
  readonly keepsEnded?: boolean;
}

export interface SetUpOptions {
  readonly facts: PodFacts;
  /** Ends what is under way: the pod is to end. */
  readonly signal: AbortSignal;
}

/** What is known of a pod's volumes. */
class Known {
  /** Those that are there, by the pod's name for the volume. */
  readonly claims = new Map<string, VolumeToMount>();
  readonly mounted = new Map<string, MountedVolume>();
  readonly digests = new Map<string, string>();
  /** Since when not all could be had: ms of the clock that is never set. */
  failingSince: number | undefined;
}

const never = Number.POSITIVE_INFINITY;
/** Of one pod, set up at the same time. */
const parallel = 8;

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  /** By the pods' UIDs. */
  readonly #known = new Map<string, Known>();

  constructor(options: PodVolumesOptions) {
    this.#options = options;
  }

  /**
   * Idempotent: what is there stays as it is, and files that changed are written anew. Returns the instant of the clock
   * that is never set (ms) when a file is due to be renewed, or infinity. Throws VolumesError when not all volumes that
   * containers use could be had; the others are there then. Rejects with the signal's reason when it aborts.
   */
  async setUp(pod: Pod, options: SetUpOptions): Promise<number> {
    const used = usedVolumes(pod);
    const volumes = (pod.spec.volumes ?? []).filter(({ name }) => used.mounted.has(name) || used.asDevices.has(name));
    const uid = pod.metadata.uid ?? '';
    const known = this.#known.get(uid) ?? new Known();
    this.#known.set(uid, known);
    const failed: FailedVolume[] = [];
    let renewAt = never;
    const rest = volumes.values();
    const work = async () => {
      for (const volume of rest) {
        const result = await this.#setUpOne(pod, volume, { ...options, used, known });
        if (typeof result === 'number') renewAt = Math.min(renewAt, result);
        else failed.push(result);
      }
    };
    // Nothing is under way any more when the pod's volumes are taken down.
    const results = await Promise.allSettled(Array.from({ length: Math.min(parallel, volumes.length) }, work));
    options.signal.throwIfAborted();
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    this.#judge(known, failed, volumes);
    return renewAt;
  }

  /** What is there of a pod's volumes, by the pod's names; nothing on nodes that write no files. */
  mounted(podUID: string): ReadonlyMap<string, MountedVolume> {
    return this.#known.get(podUID)?.mounted ?? new Map<string, MountedVolume>();
  }

  #judge(known: Known, failed: readonly FailedVolume[], volumes: readonly Volume[]): void {
    if (failed.length === 0) {
      known.failingSince = undefined;
      return;
    }
    const now = this.#options.clock.monotonic();
    known.failingSince ??= now;
    const isLate = now - known.failingSince >= mountTimeoutMs;
    // It is told anew after as long a time.
    if (isLate) known.failingSince = now;
    throw new VolumesError(volumeEvents(failed, { expected: volumes.map(({ name }) => name), isLate }));
  }

  /** When something in it is due to be renewed, or why it cannot be had. Rejects when the signal has aborted. */
  async #setUpOne(pod: Pod, volume: Volume, options: OneVolume): Promise<number | FailedVolume> {
    const { clock, client, mounter } = this.#options;
    const { known, facts, used, signal } = options;
    const { name } = volume;
    const limit = deadline(clock, mountTimeoutMs, signal);
    let specName = name;
    try {
      const wanted = known.claims.get(name) ?? (await volumeToMount(pod, volume, { used, client }));
      specName = wanted.specName;
      this.#refuseSecondPod(pod, wanted);
      const payload = await this.#payload(pod, volume, facts);
      if (mounter !== undefined) {
        const { allocatable } = facts;
        const mounted =
          known.mounted.get(name) ??
          (await mounter.mount({ pod, wanted, allocatable, signal: limit.signal, podSignal: signal }));
        if (payload !== undefined) await this.#write(pod, payload, { name, dir: mounted.path, digests: known.digests });
        known.mounted.set(name, mounted);
      }
      // Not before: until then the claim may be another by the next try.
      known.claims.set(name, wanted);
      return payload?.renewAt ?? never;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MountInterruptedError || limit.signal.aborted)
        return { volume: name, specName, stage: 'unknown', message: timedOut };
      const stage = error instanceof VolumeError ? error.stage : 'MountVolume.SetUp failed';
      return { volume: name, specName, stage, message: messageOf(error) };
    } finally {
      limit.release();
    }
  }

  #payload(pod: Pod, volume: Volume, facts: PodFacts): Promise<Payload | undefined> {
    const { objects, tokens, directories } = this.#options;
    return volumePayload(pod, volume, directories === undefined ? { objects, facts } : { objects, facts, tokens });
  }

  /** The pod's name for what is mounted at a path. */
  nameOf(podUID: string, path: string): string | undefined {
    return [...this.mounted(podUID)].find(([, mounted]) => mounted.path === path)?.[0];
  }

  /** A volume for one pod only is in no other's hands. */
  #refuseSecondPod(pod: Pod, { persistent }: VolumeToMount): void {
    const { accessModes = [] } = persistent?.spec ?? {};
    if (accessModes.length !== 1 || accessModes[0] !== 'ReadWriteOncePod') return;
    for (const [uid, { claims }] of this.#known) {
      if (uid === pod.metadata.uid) continue;
      if (![...claims.values()].some((other) => other.persistent?.metadata.uid === persistent?.metadata.uid)) continue;
      throw new VolumeError('volume uses the ReadWriteOncePod access mode and is already in use by another pod');
    }
  }

  async #write(
    pod: Pod,
    payload: Payload,
    { name, dir, digests }: { readonly name: string; readonly dir: string; readonly digests: Map<string, string> },
  ): Promise<void> {
    const wanted = digest(payload);
    const written = digests.get(name);
    if (written === wanted) return;
    const { fsGroup } = pod.spec.securityContext ?? {};
    const group = fsGroup === undefined ? undefined : Number(fsGroup);
    // Of an earlier agent.
    const isThere = written === undefined && (await hasFiles(dir, payload.files, group));
    if (!isThere) await writeAtomically(dir, payload.files, group);
    digests.set(name, wanted);
  }

  /** The pod has ended: unmounts and removes all of its volumes, and stops watching what they were made of; its other files stay. */
  async release(podUID: string): Promise<void> {
    if (this.#options.keepsEnded === true) return;
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
    this.#known.delete(podUID);
  }

  /** UIDs of pods that still have a folder. */
  async list(): Promise<string[]> {
    return (await this.#options.directories?.list()) ?? [];
  }
}

interface OneVolume extends SetUpOptions {
  readonly used: UsedVolumes;
  readonly known: Known;
}

function digest(payload: Payload): string {
  const hash = createHash('sha256');
  for (const [path, file] of payload.files)
    hash.update(JSON.stringify([path, file.mode, file.user, file.data.length])).update(file.data);
  return hash.digest('hex');
}

/**
 * Whether a volume has the files, contents, modes and owners that `writeAtomically` would make: an agent that comes
 * after another leaves them alone then. Never rejects: what cannot be read is to be written.
 */
async function hasFiles(dir: string, files: ReadonlyMap<string, PayloadFile>, group?: number): Promise<boolean> {
  try {
    const version = await readlink(join(dir, dataName));
    if (!version.startsWith(versionPrefix) || version.includes('/')) return false;
    const root = join(dir, version);
    const present = (await readdir(root, { recursive: true, withFileTypes: true })).filter(
      (entry) => !entry.isDirectory(),
    );
    if (present.length !== files.size) return false;
    const visible = (await readdir(dir)).filter((name) => !name.startsWith('..'));
    const wanted = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path));
    if (visible.length !== wanted.size || visible.some((name) => !wanted.has(name))) return false;
    for (const [path, file] of files) if (!(await isFile(join(root, path), file, group))) return false;
    return true;
  } catch {
    return false;
  }
}

async function isFile(path: string, file: PayloadFile, group: number | undefined): Promise<boolean> {
  const { data, user = 0 } = file;
  const stats = await lstat(path);
  if (stats.size !== data.length || stats.uid !== user || (stats.mode & 0o7777) !== expectedMode(file, group))
    return false;
  if (group !== undefined && stats.gid !== group) return false;
  return (await readLastBytes(path, data.length))?.equals(data) === true;
}
