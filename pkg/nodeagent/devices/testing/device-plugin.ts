/** A device plugin for tests, over real gRPC. */
import { EventEmitter, once } from 'node:events';
import { basename, dirname, join } from 'node:path';
import protobuf from 'protobufjs';
import { realClock } from '#apimachinery/clock.js';
import { GrpcChannel, type Message } from '#nodeagent/grpc/channel.js';
import { GrpcServer, type GrpcService } from '#nodeagent/grpc/server.js';
import { devicePluginV1beta1 } from '#nodeagent/protocols/device-plugin-v1beta1.gen.js';

export interface TestDevice {
  readonly id: string;
  readonly isHealthy?: boolean;
  /** Absent: without topology. */
  readonly nodes?: readonly number[];
}

export interface TestPluginOptions {
  /** In the agent's directory of device plugins. */
  readonly socket: string;
  readonly resource: string;
  readonly devices?: readonly TestDevice[];
  readonly preStart?: boolean;
  /** Answers GetPreferredAllocation. */
  readonly prefer?: (request: { available: string[]; required: string[]; size: number }) => readonly string[];
  /** Answers Allocate. */
  readonly allocate?: (ids: readonly string[]) => Message | Promise<Message>;
}

const service = 'v1beta1.DevicePlugin';

export class TestDevicePlugin {
  /** Calls, such as `Allocate a b`. */
  readonly calls: string[] = [];
  /** Refuses calls of a method. */
  refuse: (method: string) => string | undefined = () => undefined;
  readonly #options: TestPluginOptions;
  readonly #server: GrpcServer;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #devices: readonly TestDevice[];
  #version = 0;

  constructor(options: TestPluginOptions) {
    this.#options = options;
    this.#devices = options.devices ?? [];
    this.#server = new GrpcServer({
      clock: realClock,
      socket: options.socket,
      root: protobuf.Root.fromJSON(devicePluginV1beta1),
      services: [this.#service()],
    });
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  /** Ends its connections, too. */
  stop(): Promise<void> {
    return this.#server.close();
  }

  /** Registers at the agent's socket. Rejects with CallError. */
  async register(changes: Message = {}): Promise<void> {
    const { socket, resource } = this.#options;
    const channel = new GrpcChannel({
      socket: join(dirname(socket), 'kubelet.sock'),
      root: protobuf.Root.fromJSON(devicePluginV1beta1),
      timeoutMs: 10_000,
    });
    try {
      await channel.ready(10_000);
      await channel.call('v1beta1.Registration/Register', {
        ...{ version: 'v1beta1', endpoint: basename(socket), resourceName: resource, options: this.#pluginOptions() },
        ...changes,
      });
    } finally {
      channel.close();
    }
  }

  /** Reports these devices from now on. */
  report(devices: readonly TestDevice[]): void {
    this.#devices = devices;
    this.#version += 1;
    this.#changes.emit('change');
  }

  #pluginOptions(): Message {
    const { preStart = false, prefer } = this.#options;
    return { preStartRequired: preStart, getPreferredAllocationAvailable: prefer !== undefined };
  }

  #record(method: string, ids: readonly string[] = []): void {
    this.calls.push([method, ...ids].join(' '));
    const refusal = this.refuse(method);
    if (refusal !== undefined) throw new Error(refusal);
  }

  #service(): GrpcService {
    return {
      name: service,
      unary: {
        GetDevicePluginOptions: () => {
          this.#record('GetDevicePluginOptions');
          return this.#pluginOptions();
        },
        Allocate: async ({ containerRequests }) => {
          const ids = idsOf(containerRequests, 'devicesIDs');
          this.#record('Allocate', ids);
          const response = (await this.#options.allocate?.(ids)) ?? { envs: { DEVICES: ids.join() } };
          return { containerResponses: [response] };
        },
        GetPreferredAllocation: ({ containerRequests }) => {
          const [request] = containerRequests as Message[];
          const available = idsOf(containerRequests, 'availableDeviceIDs');
          const required = idsOf(containerRequests, 'mustIncludeDeviceIDs');
          const size = Number(request?.['allocationSize']);
          this.#record('GetPreferredAllocation', available);
          const deviceIDs = this.#options.prefer?.({ available, required, size }) ?? [];
          return { containerResponses: [{ deviceIDs }] };
        },
        PreStartContainer: ({ devicesIDs }) => {
          this.#record('PreStartContainer', devicesIDs as string[]);
          return {};
        },
      },
      streams: { ListAndWatch: (_, signal) => this.#reports(signal) },
    };
  }

  async *#reports(signal: AbortSignal): AsyncGenerator<Message> {
    while (!signal.aborted) {
      const version = this.#version;
      yield { devices: this.#devices.map(deviceMessage) };
      if (version === this.#version) await once(this.#changes, 'change', { signal }).catch(() => undefined);
    }
  }
}

function deviceMessage({ id, isHealthy = true, nodes }: TestDevice): Message {
  return {
    ID: id,
    health: isHealthy ? 'Healthy' : 'Unhealthy',
    ...(nodes === undefined ? {} : { topology: { nodes: nodes.map((ID) => ({ ID })) } }),
  };
}

function idsOf(requests: unknown, field: string): string[] {
  const [request] = requests as Message[];
  return [...((request?.[field] ?? []) as string[])].sort();
}
