/** Lets drivers expand volumes whose persistent volume has become larger than the claim's status says. */
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { compareQuantities, value } from '#apimachinery/quantity.js';
import type { Client } from '#client/client.js';
import type { EventType } from '#client/events/correlator.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { Logger } from '#daemon/log/logger.js';
import { CSIError, effectOf, OperationError } from '#nodeagent/csi/driver/errors.js';
import { expansionPatch, planExpansion } from '#nodeagent/csi/volumes/expansion-plan.js';
import type { CSIVolume } from '#nodeagent/csi/volumes/requests.js';
import type { VolumeServices } from '#nodeagent/csi/volumes/services.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';

export interface ExpansionOptions {
  readonly services: Pick<VolumeServices, 'drivers' | 'paths'>;
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly events: Pick<PodEvents, 'pod'>;
  readonly log: Logger;
  /** Records the progress in the claim's status (gate RecoverVolumeExpansionFailure). */
  readonly recovers: boolean;
}

/** Where the driver has the volume. */
export interface ExpansionPlace {
  readonly volumePath: string;
  /** Empty if the volume was staged by an earlier operation that the caller does not know. */
  readonly stagingPath: string;
}

export class Expansion {
  readonly #options: ExpansionOptions;
  /** By unique name: the size on this node as a quantity. */
  readonly #sizes = new Map<string, string>();
  /** Volumes that the driver cannot expand while they are in use; not tried again on this node. */
  readonly #refused = new Set<string>();

  constructor(options: ExpansionOptions) {
    this.#options = options;
  }

  /** Expands the volume before the pod starts, if it is due. Throws Error with 1.24's text. */
  async duringMount(pod: Pod, volume: CSIVolume, key: string, place: ExpansionPlace): Promise<void> {
    const { persistent } = volume;
    if (persistent === undefined) return;
    const claim = await this.#claim(volume);
    if (claim === undefined) return;
    const before = claim.status?.capacity?.['storage'] ?? '0';
    const after = persistent.spec.capacity?.['storage'] ?? '0';
    if (!this.#sizes.has(key)) this.#sizes.set(key, before);
    if (volume.readOnly) {
      this.#recordReadOnly(pod, claim, volume);
      return;
    }
    if (compareQuantities(before, after) < 0) await this.#expand(pod, claim, { volume, key, place, newSize: after });
  }

  /** Expands a volume that pods use, if its persistent volume has grown. Never rejects: a failure becomes an event. */
  async inUse(pod: Pod, volume: CSIVolume, key: string, place: ExpansionPlace): Promise<void> {
    const { readOnly, specName } = volume;
    const { client, events, log } = this.#options;
    const size = this.#sizes.get(key);
    if (readOnly || size === undefined || this.#refused.has(key)) return;
    let newSize: string;
    try {
      const persistent = await client.resource(persistentvolumes).get(specName);
      newSize = persistent.spec.capacity?.['storage'] ?? '0';
    } catch (error) {
      log.debug({ err: error, volume: specName }, 'reading the size of a persistent volume failed');
      return;
    }
    if (compareQuantities(newSize, size) <= 0) return;
    try {
      const claim = await this.#claim(volume);
      if (claim !== undefined) await this.#expand(pod, claim, { volume, key, place, newSize });
    } catch (error) {
      const message = `NodeExpandVolume.NodeExpandVolume failed for volume "${specName}" : ${messageOf(error)}`;
      events.pod(pod, 'Warning', 'VolumeResizeFailed', message);
    }
  }

  /** No pod of this node uses the volume any more. */
  forget(key: string): void {
    this.#sizes.delete(key);
    this.#refused.delete(key);
  }

  /** Undefined for a volume without a claim. */
  async #claim({ persistent }: CSIVolume): Promise<PersistentVolumeClaim | undefined> {
    const { name = '', namespace = '' } = persistent?.spec.claimRef ?? {};
    if (name === '') return undefined;
    try {
      return await this.#options.client.resource(persistentvolumeclaims).get(name, { namespace });
    } catch (error) {
      throw new Error(`mountVolume.NodeExpandVolume get PVC failed : ${messageOf(error)}`, { cause: error });
    }
  }

  /** Every mount of a read-only volume says so, as in 1.24. */
  #recordReadOnly(pod: Pod, claim: PersistentVolumeClaim, { specName }: CSIVolume): void {
    const message = `MountVolume.NodeExpandVolume failed for volume "${specName}" requested read-only file system`;
    this.#record(pod, claim, { type: 'Warning', reason: 'FileSystemResizeFailed', message });
  }

  #record(
    pod: Pod,
    { metadata }: PersistentVolumeClaim,
    { type, reason, message }: { readonly type: EventType; readonly reason: string; readonly message: string },
  ): void {
    const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata;
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid, resourceVersion };
    this.#options.events.pod(pod, type, reason, message);
    this.#options.recorder.record(claim, type, reason, message);
  }

  async #expand(pod: Pod, claim: PersistentVolumeClaim, { volume, key, place, newSize }: ExpansionStep): Promise<void> {
    const { recovers } = this.#options;
    const plan = planExpansion(claim, newSize, recovers);
    if (!plan.proceeds) return;
    let current = claim;
    if (plan.marksProgress) current = await this.#mark(current, 'NodeExpansionInProgress');
    try {
      await this.#callDriver(volume, place, newSize);
    } catch (error) {
      const { cause } = error as Error;
      const isRefused = cause instanceof CSIError && cause.code === 'FailedPrecondition';
      if (recovers && effectOf(error) === 'failed') await this.#mark(current, 'NodeExpansionFailed');
      if (isRefused) {
        // The pod runs with the old size.
        this.#refused.add(key);
        return;
      }
      throw error;
    }
    const message = `MountVolume.NodeExpandVolume succeeded for volume "${volume.specName}" ${pod.spec.nodeName ?? ''}`;
    this.#record(pod, claim, { type: 'Normal', reason: 'FileSystemResizeSuccessful', message });
    if (plan.marksCapacity) await this.#finish(current, newSize);
    this.#sizes.set(key, newSize);
  }

  async #callDriver(volume: CSIVolume, { volumePath, stagingPath }: ExpansionPlace, newSize: string): Promise<void> {
    const { drivers, paths } = this.#options.services;
    const { driver, handle, accessMode, fsType, mountOptions, isBlock } = volume;
    await drivers.operate(driver, async (service) => {
      let supports: boolean;
      try {
        supports = await service.supports('EXPAND_VOLUME');
      } catch (error) {
        const why = 'Expander.NodeExpand failed to check if node supports expansion';
        throw new Error(`${why} : ${messageOf(error)}`, { cause: error });
      }
      if (!supports) {
        const plugin = `${paths.pluginName}/${driver}`;
        throw new Error(`Expander.NodeExpand found CSI plugin ${plugin} to not support node expansion`);
      }
      try {
        await service.expand({
          ...{ volumeId: handle, volumePath, stagingTargetPath: stagingPath, accessMode },
          access: isBlock ? 'block' : { fsType, mountFlags: mountOptions },
          requiredBytes: value(newSize),
        });
      } catch (error) {
        const message = `Expander.NodeExpand failed to expand the volume : ${messageOf(error)}`;
        throw new OperationError(message, effectOf(error), { cause: error });
      }
    });
  }

  async #mark(claim: PersistentVolumeClaim, resizeStatus: string): Promise<PersistentVolumeClaim> {
    const { resourceVersion } = claim.metadata;
    return this.#patch(claim, { metadata: { resourceVersion }, status: { resizeStatus } });
  }

  async #finish(claim: PersistentVolumeClaim, newSize: string): Promise<void> {
    try {
      await this.#patch(claim, expansionPatch(claim, newSize, this.#options.recovers));
    } catch (error) {
      throw new Error(`mountVolume.NodeExpandVolume update PVC status failed : ${messageOf(error)}`, { cause: error });
    }
  }

  #patch({ metadata }: PersistentVolumeClaim, patch: unknown): Promise<PersistentVolumeClaim> {
    const { name = '', namespace = '' } = metadata;
    const claims = this.#options.client.resource(persistentvolumeclaims);
    return claims.patch(name, patch, { namespace, type: 'strategic', subresource: 'status' });
  }
}

interface ExpansionStep {
  readonly volume: CSIVolume;
  /** The volume's unique name. */
  readonly key: string;
  readonly place: ExpansionPlace;
  /** A quantity. */
  readonly newSize: string;
}
