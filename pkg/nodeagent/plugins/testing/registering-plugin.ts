/** The registration socket of a plugin, for tests, over real gRPC. */
import protobuf from 'protobufjs';
import { realClock } from '#apimachinery/clock.js';
import type { Message } from '#nodeagent/grpc/channel.js';
import { GrpcServer } from '#nodeagent/grpc/server.js';
import { pluginRegistrationV1 } from '#nodeagent/protocols/plugin-registration-v1.gen.js';

export interface PluginDescription {
  readonly type: string;
  readonly name: string;
  readonly endpoint?: string;
  readonly supportedVersions?: readonly string[];
}

export class RegisteringPlugin {
  /** Statuses that the agent sent: `registered`, or the error. */
  readonly statuses: string[] = [];
  /** Number of GetInfo calls. */
  infoCalls = 0;
  /** Delays the response to GetInfo. */
  before: () => Promise<void> = () => Promise.resolve();
  readonly #server: GrpcServer;

  constructor(socket: string, describe: () => PluginDescription) {
    this.#server = new GrpcServer({
      clock: realClock,
      socket,
      root: protobuf.Root.fromJSON(pluginRegistrationV1),
      services: [
        {
          name: 'pluginregistration.Registration',
          unary: {
            GetInfo: async () => {
              this.infoCalls += 1;
              await this.before();
              return { ...describe() };
            },
            NotifyRegistrationStatus: ({ pluginRegistered, error }: Message) => {
              this.statuses.push(pluginRegistered === true ? 'registered' : String(error));
              return {};
            },
          },
        },
      ],
    });
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  /** Removes the socket, too. */
  stop(): Promise<void> {
    return this.#server.close();
  }
}
