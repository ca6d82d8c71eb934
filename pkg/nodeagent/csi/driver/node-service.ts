/** Calls of a driver's node service during one operation; all calls share the operation's deadline. */
import type { Clock } from '#apimachinery/clock.js';
import type { AccessMode, MountCapability, NodeCapability } from '#nodeagent/csi/driver/capability.js';
import { accessModeOf, capabilitiesOf, volumeCapability } from '#nodeagent/csi/driver/capability.js';
import { CSIError } from '#nodeagent/csi/driver/errors.js';
import { type NodeInfo, nodeInfoOf } from '#nodeagent/csi/driver/node-info.js';
import { type VolumeStats, volumeStatsOf } from '#nodeagent/csi/driver/volume-stats.js';
import type { GrpcChannel, Message } from '#nodeagent/grpc/channel.js';

/** A method, its duration, and the name of its status code. */
export type CallObserver = (method: string, ms: number, code: string) => void;

export interface NodeServiceOptions {
  readonly channel: Pick<GrpcChannel, 'call'>;
  readonly clock: Clock;
  /** Limit of all calls together. */
  readonly timeoutMs: number;
  readonly onCall?: CallObserver | undefined;
}

/** Parts of staging and publishing. */
interface VolumeRequest {
  readonly volumeId: string;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** The first access mode of the persistent volume. */
  readonly accessMode: AccessMode;
  /** `block`: the containers get the device. */
  readonly access: MountCapability | 'block';
}

export interface StageRequest extends VolumeRequest {
  readonly stagingTargetPath: string;
}

export interface PublishRequest extends VolumeRequest {
  /** Empty without staging. */
  readonly stagingTargetPath: string;
  readonly targetPath: string;
  readonly readonly: boolean;
}

export interface ExpandRequest extends Pick<VolumeRequest, 'volumeId' | 'accessMode' | 'access'> {
  readonly volumePath: string;
  readonly stagingTargetPath: string;
  readonly requiredBytes: number;
}

/** All methods throw CSIError. */
export class NodeService {
  readonly #options: NodeServiceOptions;
  readonly #until: number;
  #capabilities: Promise<ReadonlySet<NodeCapability>> | undefined;

  constructor(options: NodeServiceOptions) {
    this.#options = options;
    this.#until = options.clock.monotonic() + options.timeoutMs;
  }

  async #call(method: string, request: Message): Promise<Message> {
    const { channel, clock, onCall } = this.#options;
    const began = clock.monotonic();
    const leftMs = Math.ceil(this.#until - began);
    const name = `csi.v1.Node/${method}`;
    const observe = (code: string) => onCall?.(`/${name}`, clock.monotonic() - began, code);
    try {
      if (leftMs <= 0) throw new CSIError('DeadlineExceeded', 'context deadline exceeded');
      const response = await channel.call(name, request, leftMs);
      observe('OK');
      return response;
    } catch (error) {
      observe(error instanceof CSIError ? error.code : 'unknown-non-grpc');
      throw error;
    }
  }

  async info(): Promise<NodeInfo> {
    return nodeInfoOf(await this.#call('NodeGetInfo', {}));
  }

  /** Asked once for each operation. */
  async supports(capability: NodeCapability): Promise<boolean> {
    this.#capabilities ??= this.#call('NodeGetCapabilities', {}).then(capabilitiesOf);
    return (await this.#capabilities).has(capability);
  }

  async stage({ stagingTargetPath, ...request }: StageRequest): Promise<void> {
    await this.#call('NodeStageVolume', { ...(await this.#volume(request)), stagingTargetPath });
  }

  async publish({ stagingTargetPath, targetPath, readonly, ...request }: PublishRequest): Promise<void> {
    const volume = await this.#volume(request);
    await this.#call('NodePublishVolume', { ...volume, stagingTargetPath, targetPath, readonly });
  }

  async #volume({ volumeId, publishContext, volumeContext, secrets, ...volume }: VolumeRequest): Promise<Message> {
    return {
      ...{ volumeId, publishContext, volumeContext, secrets },
      volumeCapability: await this.#capability(volume),
    };
  }

  async #capability({ accessMode, access }: Pick<VolumeRequest, 'accessMode' | 'access'>): Promise<Message> {
    return volumeCapability(accessModeOf(accessMode, await this.supports('SINGLE_NODE_MULTI_WRITER')), access);
  }

  async unpublish(volumeId: string, targetPath: string): Promise<void> {
    await this.#call('NodeUnpublishVolume', { volumeId, targetPath });
  }

  async unstage(volumeId: string, stagingTargetPath: string): Promise<void> {
    await this.#call('NodeUnstageVolume', { volumeId, stagingTargetPath });
  }

  async expand({ volumeId, volumePath, stagingTargetPath, requiredBytes, ...volume }: ExpandRequest): Promise<void> {
    await this.#call('NodeExpandVolume', {
      ...{ volumeId, volumePath, stagingTargetPath },
      capacityRange: { requiredBytes },
      volumeCapability: await this.#capability(volume),
    });
  }

  /** Throws Error for a response without usage. */
  async stats(volumeId: string, volumePath: string): Promise<VolumeStats> {
    return volumeStatsOf(await this.#call('NodeGetVolumeStats', { volumeId, volumePath }));
  }
}
