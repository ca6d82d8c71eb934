/**
 * The CSI volumes of a node's pods. Operations on one volume run one after the other. The files beside each volume say
 * what has to be undone, also after a crash; the ledger says which pods need a volume and what is staged.
 */
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { unlessAborted } from '#apimachinery/async/abort.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Attachments } from '#nodeagent/csi/volumes/attachments.js';
import { DeviceVolumes } from '#nodeagent/csi/volumes/device-volumes.js';
import type { DriverObjects } from '#nodeagent/csi/volumes/driver-objects.js';
import type { Expansion } from '#nodeagent/csi/volumes/expansion.js';
import { FileVolumes } from '#nodeagent/csi/volumes/file-volumes.js';
import type { StorageMetrics } from '#nodeagent/csi/volumes/metrics.js';
import {
  type PodVolume,
  stagedVolumes,
  unlinkedDevicesOfPod,
  volumesOfPod,
} from '#nodeagent/csi/volumes/reconstruction.js';
import { type CSIVolume, checkLifecycle, csiVolumeOf } from '#nodeagent/csi/volumes/requests.js';
import type { VolumeServices } from '#nodeagent/csi/volumes/services.js';
import { Turns } from '#nodeagent/csi/volumes/turns.js';
import type { Unstager } from '#nodeagent/csi/volumes/unstager.js';
import { MountInterruptedError } from '#nodeagent/files/mount-command.js';
import { mountOf } from '#nodeagent/files/mounts.js';
import type { DriverMount, DriverVolumes } from '#nodeagent/volumes/driver-volumes.js';
import type { MountedVolume } from '#nodeagent/volumes/mounted-volume.js';
import { type MountStage, VolumeError } from '#nodeagent/volumes/volume-error.js';
import type { VolumeToMount } from '#nodeagent/volumes/volume-to-mount.js';

export interface CSIVolumesOptions {
  readonly services: VolumeServices;
  readonly log: Logger;
  readonly objects: Pick<DriverObjects, 'get' | 'current'>;
  readonly attachments: Pick<Attachments, 'whenAttached' | 'isNeeded'>;
  readonly expansion: Pick<Expansion, 'duringMount' | 'inUse' | 'forget'>;
  readonly metrics: Pick<StorageMetrics, 'measure'>;
  readonly unstager: (unstage: (key: string) => Promise<void>) => Pick<Unstager, 'request'>;
  /** Volumes may be defined inside pods (gate CSIInlineVolume). */
  readonly allowsInline: boolean;
  /** The set of volumes in use has changed. */
  readonly onUseChanged: () => void;
}

export class CSIVolumes implements DriverVolumes {
  readonly #options: CSIVolumesOptions;
  readonly #files: FileVolumes;
  readonly #devices: DeviceVolumes;
  readonly #turns = new Turns();
  readonly #unstager: Pick<Unstager, 'request'>;
  #isReconstructed = false;

  constructor(options: CSIVolumesOptions) {
    this.#options = options;
    this.#files = new FileVolumes(options.services);
    this.#devices = new DeviceVolumes(options.services);
    this.#unstager = options.unstager((key) => this.#turns.run(key, () => this.#unstage(key)));
  }

  /** Whether an earlier agent's volumes are known. */
  get isReconstructed(): boolean {
    return this.#isReconstructed;
  }

  /** Reads what earlier agents left. `uids`: pods with a directory. */
  async reconstruct(uids: readonly string[]): Promise<void> {
    const { services, log } = this.#options;
    const { ledger, paths } = services;
    for (const volume of await stagedVolumes(paths, log))
      ledger.stage(paths.uniqueName(volume.driver, volume.handle), volume, { isCertain: false });
    for (const uid of uids) {
      try {
        for (const { data } of await this.#ofPod(uid))
          if (data !== undefined) ledger.use(this.#keyOfData(uid, data), uid);
      } catch (error) {
        log.error({ err: error, podUID: uid }, "failed to read the data of a pod's volumes");
      }
    }
    this.#isReconstructed = true;
    this.#options.onUseChanged();
  }

  async #ofPod(uid: string): Promise<PodVolume[]> {
    const { paths } = this.#options.services;
    return [...(await volumesOfPod(paths, uid)), ...(await unlinkedDevicesOfPod(paths, uid))];
  }

  #keyOfData(uid: string, data: NonNullable<PodVolume['data']>): string {
    const { paths } = this.#options.services;
    if (data.volumeLifecycleMode === 'Ephemeral') return inlineKey(uid, data.specVolID ?? '');
    return paths.uniqueName(data.driverName, data.volumeHandle);
  }

  #key(pod: Pod, { driver, handle, lifecycle, specName }: CSIVolume): string {
    if (lifecycle === 'Ephemeral') return inlineKey(pod.metadata.uid ?? '', specName);
    return this.#options.services.paths.uniqueName(driver, handle);
  }

  /** The unstaging of volumes that no pod needs, once all pods of the node are known. */
  unstageUnused(): void {
    for (const key of this.#options.services.ledger.unused()) this.#unstager.request(key);
  }

  /** Names of the attachable volumes that pods need or drivers have staged; undefined until they are known. */
  inUse(): string[] | undefined {
    if (!this.#isReconstructed) return undefined;
    const { services, objects } = this.#options;
    const { pluginName } = services.paths;
    return services.ledger.keys().filter((key) => {
      if (!key.startsWith(`${pluginName}/`)) return false;
      const driver = key.slice(pluginName.length + 1, key.indexOf('^'));
      return objects.current(driver)?.spec.attachRequired !== false;
    });
  }

  requiresRepublish({ source }: VolumeToMount): boolean {
    const driver = source.csi?.driver;
    return driver !== undefined && this.#options.objects.current(driver)?.spec.requiresRepublish === true;
  }

  async mount({ pod, target, signal }: DriverMount): Promise<MountedVolume> {
    const volume = csiVolumeOf(pod, target);
    if (volume === undefined) throw new TypeError('the volume has no driver');
    const { services, onUseChanged, metrics } = this.#options;
    const { pluginName } = services.paths;
    await this.#check(volume);
    const key = this.#key(pod, volume);
    const isNew = services.ledger.use(key, pod.metadata.uid ?? '');
    if (isNew && services.ledger.staging(key) === undefined) onUseChanged();
    const plugin = `${pluginName}:${volume.driver}`;
    const work = this.#turns.run(key, () =>
      metrics.measure(plugin, volume.isBlock ? 'map_volume' : 'volume_mount', () => {
        if (signal.aborted) throw new MountInterruptedError('the pod is to end');
        return volume.isBlock
          ? this.#mapDevice(pod, volume, { key, signal })
          : this.#mountFiles(pod, volume, { key, signal });
      }),
    );
    const path = await unlessAborted(work, signal, () => new MountInterruptedError('mounting takes too long'));
    if (volume.isBlock) return { path, kind: 'device', readOnly: target.readOnly };
    const relabels = !target.readOnly && (await mountOf(path))?.options.includes('seclabel') === true;
    return { path, kind: 'files', readOnly: target.readOnly, specName: volume.specName, ...(relabels && { relabels }) };
  }

  async #check(volume: CSIVolume): Promise<void> {
    if (volume.isBlock) return;
    const stage = 'MountVolume.NewMounter initialization failed';
    try {
      if (volume.lifecycle === 'Ephemeral' && !this.#options.allowsInline)
        throw new Error(`CSIInlineVolume feature not enabled, "${volume.lifecycle}" volumes not supported`);
      const object = await this.#options.objects.get(volume.driver);
      checkLifecycle(volume, object);
      if (object !== undefined && (object.spec.fsGroupPolicy ?? '') === '') {
        const { pluginName } = this.#options.services.paths;
        throw new Error(`${pluginName}: expected valid fsGroupPolicy, received nil value or empty string`);
      }
    } catch (error) {
      throw new VolumeError(messageOf(error), { stage, cause: error });
    }
  }

  async #mountFiles(pod: Pod, volume: CSIVolume, { key, signal }: Turn): Promise<string> {
    const { services, attachments, expansion } = this.#options;
    await attachments.whenAttached(volume, key, signal);
    const isPersistent = volume.lifecycle === 'Persistent';
    let stagingPath = '';
    if (isPersistent && services.ledger.staging(key)?.isCertain !== true) {
      await inStage('MountVolume.MountDevice failed', this.#files.stage(volume, pod, key));
      stagingPath = services.paths.staging(volume.driver, volume.handle);
    }
    const path = await inStage('MountVolume.SetUp failed', this.#files.publish(volume, pod));
    const place = { volumePath: path, stagingPath };
    const expanded = expansion.duringMount(pod, volume, key, place);
    await inStage('MountVolume.Setup failed while expanding volume', expanded);
    return path;
  }

  async #mapDevice(pod: Pod, volume: CSIVolume, { key, signal }: Turn): Promise<string> {
    const { services, attachments, expansion } = this.#options;
    await inStage('MapVolume.NewBlockVolumeMapper initialization failed', this.#devices.prepare(volume));
    await attachments.whenAttached(volume, key, signal);
    let stagingPath = '';
    if (services.ledger.staging(key)?.isCertain !== true) {
      await inStage('MapVolume.SetUpDevice failed', this.#devices.stage(volume, key));
      stagingPath = services.paths.device(volume.specName).staging;
    }
    const device = await inStage('MapVolume.MapPodDevice failed', this.#devices.publish(volume, pod));
    const link = await inStage('MapVolume.MapBlockVolume failed', this.#devices.map(volume, pod, device));
    const place = { volumePath: device, stagingPath };
    const expanded = expansion.duringMount(pod, volume, key, place);
    await inStage('MapVolume.MarkVolumeAsMounted failed while expanding volume', expanded);
    return link;
  }

  async expand(pod: Pod, target: VolumeToMount): Promise<void> {
    const volume = csiVolumeOf(pod, target);
    if (volume === undefined || volume.lifecycle === 'Ephemeral') return;
    const { services, expansion } = this.#options;
    const { paths } = services;
    const uid = pod.metadata.uid ?? '';
    const key = this.#key(pod, volume);
    const device = paths.device(volume.specName);
    const place = volume.isBlock
      ? { volumePath: join(device.published, uid), stagingPath: device.staging }
      : { volumePath: paths.target(uid, volume.specName), stagingPath: paths.staging(volume.driver, volume.handle) };
    await this.#turns.run(key, () => expansion.inUse(pod, volume, key, place));
  }

  async tearDown(uid: string): Promise<void> {
    const { ledger } = this.#options.services;
    const problems: unknown[] = [];
    for (const volume of await this.#ofPod(uid)) {
      const { data, specName } = volume;
      const key = data === undefined ? inlineKey(uid, specName) : this.#keyOfData(uid, data);
      try {
        await this.#turns.run(key, () => this.#unpublish(volume));
        this.#released(key, uid);
      } catch (error) {
        problems.push(error);
      }
    }
    if (problems.length > 0) throw problems[0];
    // Volumes that were never published; an operation may still run.
    for (const key of ledger.usedBy(uid)) {
      await this.#turns.run(key, async () => undefined);
      const left = (await this.#ofPod(uid)).some(
        ({ data }) => data !== undefined && this.#keyOfData(uid, data) === key,
      );
      if (left) throw new Error(`the volume ${key} was published while its pod ended`);
      this.#released(key, uid);
    }
  }

  async #unpublish({ uid, specName, isBlock, data }: PodVolume): Promise<void> {
    const { services, metrics } = this.#options;
    const plugin = data === undefined ? services.paths.pluginName : `${services.paths.pluginName}:${data.driverName}`;
    const step = isBlock ? 'UnmapVolume.UnmapPodDevice failed' : 'UnmountVolume.TearDown failed';
    try {
      await metrics.measure(plugin, isBlock ? 'unmap_volume' : 'volume_unmount', () =>
        isBlock ? this.#devices.unpublish(uid, specName) : this.#files.unpublish(uid, specName),
      );
    } catch (error) {
      throw new Error(`${step} for volume "${specName}" : ${messageOf(error)}`, { cause: error });
    }
  }

  #released(key: string, uid: string): void {
    const { ledger } = this.#options.services;
    if (!ledger.release(key, uid)) return;
    this.#options.expansion.forget(key);
    if (ledger.staging(key) === undefined) this.#options.onUseChanged();
    else this.#unstager.request(key);
  }

  /** Unstages a volume unless a pod needs it again. Throws Error. */
  async #unstage(key: string): Promise<void> {
    const { services, metrics, onUseChanged } = this.#options;
    const { ledger, paths } = services;
    const volume = ledger.staging(key)?.volume;
    if (volume === undefined || ledger.isUsed(key)) return;
    // Until it has succeeded the result is unknown, so that another pod stages again.
    ledger.stage(key, volume, { isCertain: false });
    await metrics.measure(
      `${paths.pluginName}:${volume.driver}`,
      volume.isBlock ? 'unmap_device' : 'unmount_device',
      () => (volume.isBlock ? this.#devices.unstage(volume) : this.#files.unstage(volume)),
    );
    ledger.unstage(key);
    onUseChanged();
  }
}

interface Turn {
  readonly key: string;
  readonly signal: AbortSignal;
}

/** Identifies a volume that is defined inside a pod. */
function inlineKey(uid: string, name: string): string {
  return `${uid}/${name}`;
}

/** Settles like a step of mounting; its failure becomes a VolumeError. */
async function inStage<T>(stage: MountStage, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    throw new VolumeError(messageOf(error), { stage, cause: error });
  }
}
