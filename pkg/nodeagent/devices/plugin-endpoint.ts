/** The connection to a device plugin's service (devicemanager/endpoint.go of 1.24). */
import protobuf from 'protobufjs';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Preference } from '#nodeagent/devices/choose.js';
import type { Device } from '#nodeagent/devices/device.js';
import { GrpcChannel, type Message } from '#nodeagent/grpc/channel.js';
import { devicePluginV1beta1 } from '#nodeagent/protocols/device-plugin-v1beta1.gen.js';

export interface PluginOptions {
  /** PreStartContainer must be called before each start of a container. */
  readonly preStart: boolean;
  /** GetPreferredAllocation may be called. */
  readonly preferences: boolean;
}

export interface PluginEndpointOptions {
  readonly socket: string;
  readonly resource: string;
  readonly clock: Clock;
}

const service = 'v1beta1.DevicePlugin';
const dialMs = 10_000;
const optionsMs = 10_000;
/** 1.24 waits for ever; a plugin that hangs would hold up the admission of all pods. */
const allocateMs = 120_000;
const preferMs = 30_000;
/** Limit of 1.24. */
const preStartMs = 30_000;
/** Go's limit. */
const maxMessageBytes = 4 * 1024 * 1024;
/** Bounds the reports of a plugin that repeats itself without end. */
const betweenReportsMs = 50;

const root = protobuf.Root.fromJSON(devicePluginV1beta1);
const response = root.lookupType('v1beta1.ContainerAllocateResponse');

/** Decodes a stored response. Throws if it is none. */
export function decodeResponse(bytes: Buffer): Message {
  return response.toObject(response.decode(bytes), { defaults: true, arrays: true, objects: true });
}

export class PluginEndpoint {
  readonly #options: PluginEndpointOptions;
  readonly #channel: GrpcChannel;
  /** Monotonic. */
  #stoppedMs: number | undefined;

  constructor(options: PluginEndpointOptions) {
    this.#options = options;
    const { socket } = options;
    this.#channel = new GrpcChannel({ socket, root, timeoutMs: allocateMs, maxMessageBytes, strictText: true });
  }

  /** Monotonic time of its end; undefined while it works. */
  get stoppedMs(): number | undefined {
    return this.#stoppedMs;
  }

  /** Throws with 1.24's words if the plugin's socket accepts no connection in time. */
  async connect(): Promise<void> {
    try {
      await this.#channel.ready(dialMs);
    } catch (error) {
      throw new Error(`failed to dial device plugin: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Throws CallError. */
  async pluginOptions(): Promise<PluginOptions> {
    return pluginOptionsOf(await this.#channel.call(`${service}/GetDevicePluginOptions`, {}, optionsMs));
  }

  /** Calls `onDevices` for each report; resolves at the end of the connection, with its error if it has one. */
  watch(onDevices: (devices: readonly Device[]) => Promise<void>): Promise<Error | undefined> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      this.#channel.stream(
        `${service}/ListAndWatch`,
        {},
        {
          async onMessage({ devices }) {
            await onDevices(((devices ?? []) as Message[]).map(deviceOf));
            await clock.sleep(betweenReportsMs);
          },
          onEnd: resolve,
        },
      );
    });
  }

  /** The plugin's choice, possibly empty. Throws CallError, or Error if the endpoint has stopped. */
  async prefer({ available, chosen, count }: Preference): Promise<ReadonlySet<string>> {
    this.#checkRunning();
    const request = { availableDeviceIDs: available, mustIncludeDeviceIDs: chosen, allocationSize: count };
    const answer = await this.#channel.call(
      `${service}/GetPreferredAllocation`,
      { containerRequests: [request] },
      preferMs,
    );
    const [first] = (answer['containerResponses'] ?? []) as Message[];
    return new Set(((first?.['deviceIDs'] ?? []) as unknown[]).map(String));
  }

  /** The ContainerAllocateResponse, encoded. Throws CallError, or Error if there is none. */
  async allocate(ids: readonly string[]): Promise<Buffer> {
    this.#checkRunning();
    const answer = await this.#channel.call(`${service}/Allocate`, { containerRequests: [{ devicesIDs: ids }] });
    const [first] = (answer['containerResponses'] ?? []) as Message[];
    if (first === undefined)
      throw new Error(
        'no containers return in allocation response &AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}',
      );
    return Buffer.from(response.encode(response.fromObject(first)).finish());
  }

  /** Throws CallError, or Error if the endpoint has stopped. */
  async preStart(ids: readonly string[]): Promise<void> {
    this.#checkRunning();
    await this.#channel.call(`${service}/PreStartContainer`, { devicesIDs: ids }, preStartMs);
  }

  /** Ends the connection; the reports end, too. */
  stop(): void {
    this.#stoppedMs ??= this.#options.clock.monotonic();
    this.#channel.close();
  }

  #checkRunning(): void {
    if (this.#stoppedMs !== undefined) throw new Error(`endpoint ${this.#options.resource} has been stopped`);
  }
}

export function pluginOptionsOf(options: Message | null | undefined): PluginOptions {
  return {
    preStart: options?.['preStartRequired'] === true,
    preferences: options?.['getPreferredAllocationAvailable'] === true,
  };
}

function deviceOf({ ID: id, health, topology }: Message): Device {
  const nodes = ((topology as Message | null)?.['nodes'] ?? []) as Message[];
  return {
    id: String(id),
    isHealthy: health === 'Healthy',
    ...(topology === null || topology === undefined ? {} : { nodes: nodes.map((node) => Number(node['ID'])) }),
  };
}
