/** Stages, publishes and removes volumes that containers use as devices. Order, directories and texts of 1.24. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { effectOf } from '#nodeagent/csi/driver/errors.js';
import { isAbsent, removeEmptyDirectory } from '#nodeagent/csi/volumes/absent.js';
import { type DeviceMap, mapDevice, mappedDevices, unmapDevice } from '#nodeagent/csi/volumes/device-map.js';
import type { StagedVolume } from '#nodeagent/csi/volumes/ledger.js';
import { Operations } from '#nodeagent/csi/volumes/operations.js';
import { attachmentName } from '#nodeagent/csi/volumes/paths.js';
import { type CSIVolume, podAttributes, publishedData } from '#nodeagent/csi/volumes/requests.js';
import type { VolumeServices } from '#nodeagent/csi/volumes/services.js';
import {
  loadVolumeData,
  makePrivateDirectory,
  removeVolumeData,
  saveVolumeData,
} from '#nodeagent/csi/volumes/volume-data.js';

export class DeviceVolumes {
  readonly #services: VolumeServices;
  readonly #operations: Operations;

  constructor(services: VolumeServices) {
    this.#services = services;
    this.#operations = new Operations(services.drivers, services.paths.pluginName);
  }

  #map(uid: string, specName: string): DeviceMap {
    const { paths } = this.#services;
    return {
      globalDir: paths.device(specName).map,
      podDir: paths.ofPod(uid).devices,
      podUID: uid,
      volume: specName,
    };
  }

  /** The directory for containers' links; exists once the device is mapped. */
  link(uid: string, specName: string): string {
    return join(this.#services.paths.ofPod(uid).devices, specName);
  }

  /** Writes the data of the volume, which tells a later agent what to remove. */
  async prepare(volume: CSIVolume): Promise<void> {
    const { data } = this.#services.paths.device(volume.specName);
    await makePrivateDirectory(data);
    await saveVolumeData(data, publishedData(volume, this.#services.nodeName));
  }

  /** Stages the volume for all pods of the node, unless the driver does not stage. Throws an error with an effect. */
  async stage(volume: CSIVolume, key: string): Promise<void> {
    const { paths, ledger, credentials } = this.#services;
    const { driver, handle, specName } = volume;
    const { staging } = paths.device(specName);
    const entry: StagedVolume = { driver, handle, specName, isBlock: true };
    const publishContext = await this.#publishContext(volume, 'SetupDevice');
    await this.#operations.run(driver, 'blockMapper.SetUpDevice failed to get CSI client', async (service) => {
      ledger.stage(key, entry, { isCertain: false });
      const why = 'blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability';
      if (!(await this.#operations.step(service.supports('STAGE_UNSTAGE_VOLUME'), why))) return;
      const secrets = await credentials.secret(volume.stageSecret, 'NodeStageSecretRef');
      await makePrivateDirectory(staging);
      try {
        await service.stage({
          ...{ volumeId: handle, publishContext, secrets, accessMode: volume.accessMode, access: 'block' },
          stagingTargetPath: staging,
          volumeContext: volume.attributes,
        });
      } catch (error) {
        if (effectOf(error) === 'failed' && !(await this.#isMapped(specName))) {
          await this.#removeDirectories(specName);
          ledger.unstage(key);
        }
        throw error;
      }
    });
    ledger.stage(key, entry, { isCertain: true });
  }

  async #publishContext(volume: CSIVolume, step: string): Promise<Readonly<Record<string, string>>> {
    const { attachments, nodeName } = this.#services;
    const name = attachmentName(volume.handle, volume.driver, nodeName);
    return this.#operations.step(
      attachments.publishContext(volume),
      `blockMapper.${step} failed to get volume attachment [id=${name}]`,
    );
  }

  /** Publishes the volume for a pod; idempotent. Returns the device. Throws an error with an effect. */
  async publish(volume: CSIVolume, pod: Pod): Promise<string> {
    const { paths, objects, credentials, dialect } = this.#services;
    const { driver, handle, specName } = volume;
    const { published, staging } = paths.device(specName);
    const path = join(published, pod.metadata.uid ?? '');
    const publishContext = await this.#publishContext(volume, 'MapPodDevice');
    await this.#operations.run(driver, 'blockMapper.MapPodDevice failed to get CSI client', async (service) => {
      const object = await objects.get(driver);
      const secrets = await credentials.secret(volume.publishSecret, 'NodePublishSecretRef');
      await makePrivateDirectory(published);
      await service.publish({
        ...{ volumeId: handle, publishContext, secrets, accessMode: volume.accessMode, access: 'block' },
        volumeContext: { ...volume.attributes, ...podAttributes(pod, volume, { object, dialect }) },
        stagingTargetPath: staging,
        targetPath: path,
        readonly: volume.readOnly,
      });
    });
    return path;
  }

  /** Maps the published device for the pod's containers. Returns the link for them. */
  async map(volume: CSIVolume, pod: Pod, device: string): Promise<string> {
    return mapDevice(device, this.#map(pod.metadata.uid ?? '', volume.specName));
  }

  /** Unmaps and unpublishes the device of a pod. Throws Error. */
  async unpublish(uid: string, specName: string): Promise<void> {
    const { paths } = this.#services;
    const { data: dir, published } = paths.device(specName);
    await unmapDevice(this.#map(uid, specName));
    const data = await loadVolumeData(dir);
    if (data === undefined) return;
    await this.#operations.run(
      data.driverName,
      'blockMapper.UnmapPodDevice failed to get CSI client',
      async (service) => {
        // Also without the device: an earlier call may have timed out.
        const call = service.unpublish(data.volumeHandle, join(published, uid));
        await this.#operations.step(call, 'blockMapper.unpublishVolumeForBlock failed');
      },
    );
  }

  async #isMapped(specName: string): Promise<boolean> {
    return (await mappedDevices(this.#services.paths.device(specName).map)).length > 0;
  }

  /** Unstages the volume and removes its directories. Throws Error. */
  async unstage({ driver, handle, specName }: StagedVolume): Promise<void> {
    const { staging, map } = this.#services.paths.device(specName);
    const references = await mappedDevices(map);
    if (references.length > 0)
      throw new Error(`the device "${map}" is still referenced from other Pods [${references.join(' ')}]`);
    if (await exists(staging)) {
      await this.#operations.run(driver, 'blockMapper.TearDownDevice failed to get CSI client', async (service) => {
        const why = 'blockMapper.unstageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability';
        if (!(await this.#operations.step(service.supports('STAGE_UNSTAGE_VOLUME'), why))) return;
        await this.#operations.step(service.unstage(handle, staging), 'blockMapper.unstageVolumeForBlock failed');
      });
      await removeEmptyDirectory(staging);
    }
    await this.#removeDirectories(specName);
  }

  /** Removes the directories of a volume that the driver does not have; never what a driver left in them. */
  async #removeDirectories(specName: string): Promise<void> {
    const { published, staging, data, map, own } = this.#services.paths.device(specName);
    await removeEmptyDirectory(published);
    await removeEmptyDirectory(staging);
    await removeVolumeData(data);
    await removeEmptyDirectory(data);
    await rm(map, { recursive: true, force: true });
    await removeEmptyDirectory(own);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}
