/** Stages, publishes and removes volumes with files. Order, directories and texts of 1.24. */
import { dirname } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { effectOf, OperationError } from '#nodeagent/csi/driver/errors.js';
import type { StagedVolume } from '#nodeagent/csi/volumes/ledger.js';
import { removeFailedMountDirectory, removeMountDirectory } from '#nodeagent/csi/volumes/mount-directory.js';
import { Operations } from '#nodeagent/csi/volumes/operations.js';
import { appliesGroup, type CSIVolume, podAttributes, publishedData } from '#nodeagent/csi/volumes/requests.js';
import type { VolumeServices } from '#nodeagent/csi/volumes/services.js';
import { loadVolumeData, makePrivateDirectory, saveVolumeData } from '#nodeagent/csi/volumes/volume-data.js';
import { mountReferences } from '#nodeagent/files/mounts.js';
import { giveToGroup } from '#nodeagent/volumes/ownership.js';

export class FileVolumes {
  readonly #services: VolumeServices;
  readonly #operations: Operations;

  constructor(services: VolumeServices) {
    this.#services = services;
    this.#operations = new Operations(services.drivers, services.paths.pluginName);
  }

  #group(pod: Pod): number | undefined {
    const { fsGroup } = pod.spec.securityContext ?? {};
    return fsGroup === undefined ? undefined : Number(fsGroup);
  }

  /** Stages the volume for all pods of the node, unless the driver does not stage. Throws an error with an effect. */
  async stage(volume: CSIVolume, pod: Pod, key: string): Promise<void> {
    const { paths, ledger, attachments, credentials, delegatesGroup } = this.#services;
    const { driver, handle, specName } = volume;
    const path = paths.staging(driver, handle);
    const entry: StagedVolume = { driver, handle, specName, isBlock: false };
    await this.#operations.run(driver, 'attacher.MountDevice failed to create newCsiDriverClient', async (service) => {
      const stages = await service.supports('STAGE_UNSTAGE_VOLUME');
      const publishContext = await this.#operations.before(attachments.publishContext(volume));
      const secret = stages ? volume.stageSecret : undefined;
      const secrets = await this.#operations.before(credentials.secret(secret, 'NodeStageSecretRef'));
      await makePrivateDirectory(path);
      ledger.stage(key, entry, { isCertain: false });
      await saveVolumeData(dirname(path), { driverName: driver, volumeHandle: handle });
      // The data also tells which directory to remove.
      if (!stages) return;
      const delegates = delegatesGroup && (await this.#operations.before(service.supports('VOLUME_MOUNT_GROUP')));
      const group = delegates ? this.#group(pod) : undefined;
      const { fsType, mountOptions: mountFlags, accessMode } = volume;
      try {
        await service.stage({
          ...{ volumeId: handle, publishContext, secrets, accessMode, access: { fsType, mountFlags, group } },
          stagingTargetPath: path,
          volumeContext: volume.attributes,
        });
      } catch (error) {
        if (effectOf(error) === 'failed') await this.#forgetStaging(path, key);
        throw error;
      }
    });
    ledger.stage(key, entry, { isCertain: true });
  }

  /** The driver has nothing staged. A driver that mounted something nevertheless has to unstage it. */
  async #forgetStaging(path: string, key: string): Promise<void> {
    await removeFailedMountDirectory(path, this.#services.log);
    if ((await loadVolumeData(dirname(path))) === undefined) this.#services.ledger.unstage(key);
  }

  /** Publishes the volume for a pod; idempotent. Returns its path. Throws an error with an effect. */
  async publish(volume: CSIVolume, pod: Pod): Promise<string> {
    const { paths, objects, attachments, credentials, dialect, delegatesGroup, nodeName } = this.#services;
    const { driver, handle, lifecycle } = volume;
    const path = paths.target(pod.metadata.uid ?? '', volume.specName);
    const group = this.#group(pod);
    const object = await this.#operations.before(
      objects.get(driver),
      'mounter.SetUpAt failed to assemble volume attributes',
    );
    const isDelegated = await this.#operations.run(
      driver,
      'mounter.SetUpAt failed to get CSI client',
      async (service) => {
        const isPersistent = lifecycle === 'Persistent';
        const why = 'mounter.SetUpAt failed to check for STAGE_UNSTAGE_VOLUME capability';
        const stages = isPersistent && (await this.#operations.step(service.supports('STAGE_UNSTAGE_VOLUME'), why));
        const publishContext = isPersistent
          ? await this.#operations.before(
              attachments.publishContext(volume),
              'mounter.SetUpAt failed to fetch publishContext',
            )
          : {};
        await makePrivateDirectory(dirname(path));
        const secrets = await this.#operations.before(credentials.secret(volume.publishSecret, 'NodePublishSecretRef'));
        const tokens = await this.#operations.before(
          credentials.tokens(pod, object),
          'mounter.SetUpAt failed to get service accoount token attributes',
        );
        const capability = 'failed to determine if the node service has VOLUME_MOUNT_GROUP capability';
        const delegates =
          delegatesGroup &&
          (await this.#operations.before(service.supports('VOLUME_MOUNT_GROUP'), `mounter.SetUpAt ${capability}`));
        await this.#operations.before(
          saveVolumeData(dirname(path), publishedData(volume, nodeName)),
          'mounter.SetUpAt failed to save volume info data',
        );
        const { fsType, mountOptions: mountFlags, accessMode } = volume;
        const access = { fsType, mountFlags, group: delegates ? group : undefined };
        try {
          await service.publish({
            ...{ volumeId: handle, publishContext, secrets, accessMode, access },
            volumeContext: { ...volume.attributes, ...podAttributes(pod, volume, { object, dialect }), ...tokens },
            stagingTargetPath: stages ? paths.staging(driver, handle) : '',
            targetPath: path,
            readonly: volume.readOnly,
          });
        } catch (error) {
          if (effectOf(error) === 'failed') await removeFailedMountDirectory(path, this.#services.log);
          throw error;
        }
        return delegates;
      },
    );
    if (!isDelegated && group !== undefined && appliesGroup(volume, object?.spec.fsGroupPolicy))
      await this.#giveToGroup(path, volume, pod, group);
    return path;
  }

  async #giveToGroup(path: string, { handle }: CSIVolume, pod: Pod, group: number): Promise<void> {
    try {
      const policy = pod.spec.securityContext?.fsGroupChangePolicy;
      await giveToGroup(path, { group, policy });
    } catch (error) {
      // The volume is mounted, so it has to be unpublished.
      const message = `applyFSGroup failed for vol ${handle}: ${messageOf(error)}`;
      throw new OperationError(message, 'uncertain', { cause: error });
    }
  }

  /**
   * Unpublishes a pod's volume and removes its directory. Does nothing without the volume's data: nothing was published.
   * Throws Error.
   */
  async unpublish(uid: string, specName: string): Promise<void> {
    const { paths } = this.#services;
    const path = paths.target(uid, specName);
    const data = await loadVolumeData(dirname(path));
    if (data === undefined) return removeMountDirectory(path);
    await this.#operations.run(data.driverName, 'Unmounter.TearDownAt failed to get CSI client', async (service) => {
      await this.#operations.step(service.unpublish(data.volumeHandle, path), 'Unmounter.TearDownAt failed');
    });
    await this.#operations.step(removeMountDirectory(path), `Unmounter.TearDownAt failed to clean mount dir [${path}]`);
  }

  /** Unstages a volume and removes its directory. Throws Error. */
  async unstage({ driver, handle }: StagedVolume): Promise<void> {
    const path = this.#services.paths.staging(driver, handle);
    const data = await loadVolumeData(dirname(path));
    if (data === undefined) return;
    const references = await mountReferences(path);
    if (references.length > 0)
      throw new Error(`the device mount path "${path}" is still mounted by other references [${references.join(' ')}]`);
    await this.#operations.run(
      driver,
      'attacher.UnmountDevice failed to create newCsiDriverClient',
      async (service) => {
        const why = 'attacher.UnmountDevice failed to check whether STAGE_UNSTAGE_VOLUME set';
        if (!(await this.#operations.step(service.supports('STAGE_UNSTAGE_VOLUME'), why))) return;
        await this.#operations.step(service.unstage(data.volumeHandle, path), 'attacher.UnmountDevice failed');
      },
    );
    await this.#operations.step(removeMountDirectory(path), `failed to clean up global mount ${dirname(path)}`);
  }
}
