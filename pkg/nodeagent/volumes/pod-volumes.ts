/** Sets up the volumes of pods repeatedly, writing only changes, and tears them down. */

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
import type { DriverVolumes } from '#nodeagent/volumes/driver-volumes.js';
import type { MountedVolume } from '#nodeagent/volumes/mounted-volume.js';
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
import type { VolumeMounter } from '#nodeagent/volumes/volume-mounter.js';
import {
  type UsedVolumes,
  usedVolumes,
  type VolumeToMount,
  volumeToMount,
} from '#nodeagent/volumes/volume-to-mount.js';

export interface PodVolumesOptions {
  readonly clock: Clock;
  /** Reads claims and their volumes; absent without an API. */
  readonly client?: Client;
  readonly objects: ReferencedObjects;
  readonly tokens: TokenManager;
  /** Absent, like `mounter`, on nodes without real containers: references are resolved, but nothing is written. */
  readonly directories?: PodDirectories;
  readonly mounter?: VolumeMounter;
  /** Volumes of CSI drivers; absent like `mounter`. */
  readonly csi?: DriverVolumes;
  /** Completed pods keep their volumes until they are deleted. */
  readonly keepsEnded?: boolean;
}

export interface SetUpOptions {
  readonly facts: PodFacts;
  /** Aborts the setup when the pod is to end. */
  readonly signal: AbortSignal;
}

/** Cached state of a pod's volumes. */
class VolumeState {
  /** Resolved volumes, by the pod's volume name. */
  readonly claims = new Map<string, VolumeToMount>();
  readonly mounted = new Map<string, MountedVolume>();
  readonly digests = new Map<string, string>();
  /** When the sizes of the pod's volumes were last compared (monotonic ms), by the pod's volume name. */
  readonly comparedAt = new Map<string, number>();
  /** Start of the current failure (monotonic ms). */
  failingSince: number | undefined;
}

/** 1.24 compares at each sync of a pod. */
const sizePeriodMs = 60_000;
const never = Number.POSITIVE_INFINITY;
/** Volumes of one pod that are set up concurrently. */
const parallel = 8;

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  /** By pod UID. */
  readonly #states = new Map<string, VolumeState>();

  constructor(options: PodVolumesOptions) {
    this.#options = options;
  }

  /**
   * Idempotent: keeps existing volumes, and rewrites changed files. Returns when a file is due for renewal (monotonic
   * ms), or infinity. Throws VolumesError after setting up all other volumes if one that containers use failed. Rejects
   * with the signal's reason when it aborts.
   */
  async setUp(pod: Pod, options: SetUpOptions): Promise<number> {
    const used = usedVolumes(pod);
    const volumes = (pod.spec.volumes ?? []).filter(({ name }) => used.mounted.has(name) || used.asDevices.has(name));
    const uid = pod.metadata.uid ?? '';
    const state = this.#states.get(uid) ?? new VolumeState();
    this.#states.set(uid, state);
    const failed: FailedVolume[] = [];
    let renewAt = never;
    const rest = volumes.values();
    const work = async () => {
      for (const volume of rest) {
        const result = await this.#setUpOne(pod, volume, { ...options, used, state });
        if (typeof result === 'number') renewAt = Math.min(renewAt, result);
        else failed.push(result);
      }
    };
    // Wait for all, so that nothing runs when the pod's volumes are torn down.
    const results = await Promise.allSettled(Array.from({ length: Math.min(parallel, volumes.length) }, work));
    options.signal.throwIfAborted();
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    this.#throwFailures(state, failed, volumes);
    return renewAt;
  }

  /** The pod's mounted volumes, by the pod's volume name; empty on nodes that write no files. */
  mounted(podUID: string): ReadonlyMap<string, MountedVolume> {
    return this.#states.get(podUID)?.mounted ?? new Map<string, MountedVolume>();
  }

  #throwFailures(state: VolumeState, failed: readonly FailedVolume[], volumes: readonly Volume[]): void {
    if (failed.length === 0) {
      state.failingSince = undefined;
      return;
    }
    const now = this.#options.clock.monotonic();
    state.failingSince ??= now;
    const isLate = now - state.failingSince >= mountTimeoutMs;
    // Report the timeout again after the same time.
    if (isLate) state.failingSince = now;
    throw new VolumesError(volumeEvents(failed, { expected: volumes.map(({ name }) => name), isLate }));
  }

  /** Returns when the volume is due for renewal, or why it failed. Rejects if the signal has aborted. */
  async #setUpOne(pod: Pod, volume: Volume, options: OneVolume): Promise<number | FailedVolume> {
    const { clock, client, csi, mounter } = this.#options;
    const { state, facts, used, signal } = options;
    const { name } = volume;
    const limit = deadline(clock, mountTimeoutMs, signal);
    let specName = name;
    try {
      const target = state.claims.get(name) ?? (await volumeToMount(pod, volume, { used, client }));
      specName = target.specName;
      this.#refuseSecondPod(pod, target);
      const payload = await this.#payload(pod, volume, facts);
      if (mounter !== undefined) {
        const { allocatable } = facts;
        const before = csi?.requiresRepublish(target) === true ? undefined : state.mounted.get(name);
        const mounted =
          before ?? (await mounter.mount({ pod, target, allocatable, signal: limit.signal, podSignal: signal }));
        await this.#expand(pod, target, state);
        if (payload !== undefined) await this.#write(pod, payload, { name, dir: mounted.path, digests: state.digests });
        state.mounted.set(name, mounted);
      }
      // Cached only after success: until then the claim may change between two tries.
      state.claims.set(name, target);
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

  /** Compares the size of a mounted volume with that of its persistent volume, at most once per period. */
  async #expand(pod: Pod, target: VolumeToMount, { comparedAt }: VolumeState): Promise<void> {
    const { clock, csi } = this.#options;
    if (csi === undefined || target.persistent?.spec.csi === undefined) return;
    const now = clock.monotonic();
    const last = comparedAt.get(target.volume);
    if (last !== undefined && now - last < sizePeriodMs) return;
    comparedAt.set(target.volume, now);
    // The mount that has just succeeded has expanded it.
    if (last !== undefined) await csi.expand(pod, target);
  }

  #payload(pod: Pod, volume: Volume, facts: PodFacts): Promise<Payload | undefined> {
    const { objects, tokens, directories } = this.#options;
    return volumePayload(pod, volume, directories === undefined ? { objects, facts } : { objects, facts, tokens });
  }

  /** The pod's volume name of a mount path. */
  volumeAt(podUID: string, path: string): string | undefined {
    return [...this.mounted(podUID)].find(([, mounted]) => mounted.path === path)?.[0];
  }

  /** Throws if a ReadWriteOncePod volume is already used by another pod. */
  #refuseSecondPod(pod: Pod, { persistent }: VolumeToMount): void {
    const { accessModes = [] } = persistent?.spec ?? {};
    if (accessModes.length !== 1 || accessModes[0] !== 'ReadWriteOncePod') return;
    for (const [uid, { claims }] of this.#states) {
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
    const newDigest = digest(payload);
    const written = digests.get(name);
    if (written === newDigest) return;
    const { fsGroup } = pod.spec.securityContext ?? {};
    const group = fsGroup === undefined ? undefined : Number(fsGroup);
    // An earlier agent may have written the files.
    const isCurrent = written === undefined && (await hasFiles(dir, payload.files, group));
    if (!isCurrent) await writeAtomically(dir, payload.files, group);
    digests.set(name, newDigest);
  }

  /** Unmounts and removes the volumes of an ended pod, and stops watching their objects; keeps its other files. */
  async release(podUID: string): Promise<void> {
    if (this.#options.keepsEnded === true) return;
    this.#forget(podUID);
    await this.#unpublish(podUID);
    await this.#options.directories?.removeVolumes(podUID);
  }

  /** Like `release`, but also removes all other files of the pod. */
  async tearDown(podUID: string): Promise<void> {
    this.#forget(podUID);
    await this.#unpublish(podUID);
    await this.#options.directories?.remove(podUID);
  }

  /** Drivers unmount their volumes themselves, once no sub-path holds them. */
  async #unpublish(podUID: string): Promise<void> {
    const { csi, directories } = this.#options;
    if (csi === undefined) return;
    await directories?.removeSubPaths(podUID);
    await csi.tearDown(podUID);
  }

  #forget(podUID: string): void {
    this.#options.objects.release(podUID);
    this.#options.tokens.release(podUID);
    this.#states.delete(podUID);
  }

  /** UIDs of pods with a directory. */
  async list(): Promise<string[]> {
    return (await this.#options.directories?.list()) ?? [];
  }
}

interface OneVolume extends SetUpOptions {
  readonly used: UsedVolumes;
  readonly state: VolumeState;
}

function digest(payload: Payload): string {
  const hash = createHash('sha256');
  for (const [path, file] of payload.files)
    hash.update(JSON.stringify([path, file.mode, file.user, file.data.length])).update(file.data);
  return hash.digest('hex');
}

/**
 * True if the volume has the content, modes and owners that `writeAtomically` would write, so that a new agent keeps
 * files of an earlier one. Never rejects: unreadable files are rewritten.
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
    const expectedNames = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path));
    if (visible.length !== expectedNames.size || visible.some((name) => !expectedNames.has(name))) return false;
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
