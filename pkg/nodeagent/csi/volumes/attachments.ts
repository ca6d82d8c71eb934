/** Waits until the controllers have attached a volume to this node. Rules and texts of 1.24. */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { volumeattachments } from '#api/storage/v1/resources.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import type { DriverObjects } from '#nodeagent/csi/volumes/driver-objects.js';
import { attachmentName } from '#nodeagent/csi/volumes/paths.js';
import type { CSIVolume } from '#nodeagent/csi/volumes/requests.js';
import { MountInterruptedError } from '#nodeagent/files/mount-command.js';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';

export interface AttachmentsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly nodeName: string;
  /** This node only. */
  readonly node: Informer<Node>;
  readonly objects: Pick<DriverObjects, 'get'>;
  /** Controllers attach this node's volumes. False: no volume that must be attached can be mounted. */
  readonly controllerAttaches: boolean;
}

/** Pause before the API is read again. */
const retryMs = 500;

export class Attachments {
  readonly #options: AttachmentsOptions;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** Whether the volume must be attached before it is mounted. */
  async isNeeded({ driver, lifecycle }: Pick<CSIVolume, 'driver' | 'lifecycle'>): Promise<boolean> {
    if (lifecycle === 'Ephemeral') return false;
    const object = await this.#options.objects.get(driver);
    return object?.spec.attachRequired !== false;
  }

  /**
   * Resolves once the node's status says that the volume is attached, and its VolumeAttachment agrees. Throws VolumeError,
   * or MountInterruptedError when the signal aborts.
   */
  async whenAttached(volume: CSIVolume, uniqueName: string, signal: AbortSignal): Promise<void> {
    if (!(await this.isNeeded(volume))) return;
    const { client, controllerAttaches } = this.#options;
    if (!controllerAttaches) {
      const agent = client.dialect.components.nodeAgent;
      const why = `attaching volumes from the ${agent} is not supported`;
      throw new VolumeError(why, { stage: 'AttachVolume.Attach failed' });
    }
    await this.#inStatus(uniqueName, signal);
    await this.#confirmed(volume, signal);
  }

  async #inStatus(uniqueName: string, signal: AbortSignal): Promise<void> {
    const { node, nodeName, client, clock } = this.#options;
    let wake: () => void = () => undefined;
    const changed = () => wake();
    const unsubscribe = node.addHandler({ onAdd: changed, onUpdate: changed });
    signal.addEventListener('abort', changed, { once: true });
    try {
      for (;;) {
        if (signal.aborted) throw interrupted();
        const change = new Promise<void>((resolve) => {
          wake = resolve;
        });
        if (isAttached(node.get(nodeName), uniqueName)) {
          // The cache may be older than a detachment.
          const current = await client.resource(nodes).get(nodeName).catch(undefinedAfterError);
          if (current !== undefined && isAttached(current, uniqueName)) return;
          await clock.sleep(retryMs, signal);
        } else await change;
      }
    } finally {
      signal.removeEventListener('abort', changed);
      unsubscribe();
    }
  }

  async #confirmed({ driver, handle, isBlock }: CSIVolume, signal: AbortSignal): Promise<void> {
    const stage = isBlock ? 'MapVolume.WaitForAttach failed' : 'MountVolume.WaitForAttach failed';
    const name = attachmentName(handle, driver, this.#options.nodeName);
    for (;;) {
      let attachment: VolumeAttachment;
      try {
        attachment = await this.#read(name);
      } catch (error) {
        const message = `volume ${handle} has GET error for volume attachment ${name}: ${messageOf(error)}`;
        throw new VolumeError(message, { stage, cause: error });
      }
      if (attachment.metadata.deletionTimestamp !== undefined)
        throw new VolumeError('volume attachment is being deleted', { stage });
      if (attachment.status?.attached === true) return;
      const problem = attachment.status?.attachError;
      if (problem !== undefined) throw new VolumeError(problem.message ?? '', { stage });
      await this.#options.clock.sleep(retryMs, signal);
      if (signal.aborted) throw interrupted();
    }
  }

  /** What the driver's controller says about the attachment; empty for volumes that are not attached. Throws StatusError. */
  async publishContext(volume: CSIVolume): Promise<Readonly<Record<string, string>>> {
    if (!(await this.isNeeded(volume))) return {};
    const { driver, handle } = volume;
    const attachment = await this.#read(attachmentName(handle, driver, this.#options.nodeName));
    return attachment.status?.attachmentMetadata ?? {};
  }

  #read(name: string): Promise<VolumeAttachment> {
    return this.#options.client.resource(volumeattachments).get(name);
  }
}

/** Whether the node has reported the volume in use, and controllers that it is attached. Pure. */
function isAttached(node: Node | undefined, uniqueName: string): boolean {
  const { volumesInUse = [], volumesAttached = [] } = node?.status ?? {};
  return volumesInUse.includes(uniqueName) && volumesAttached.some(({ name }) => name === uniqueName);
}

function interrupted(): Error {
  return new MountInterruptedError('waiting for the attachment was interrupted');
}

/** The API is read again later. */
function undefinedAfterError(): undefined {
  return undefined;
}
