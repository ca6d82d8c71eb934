/** The drivers that are registered on this node, and connections to them. */
import protobuf from 'protobufjs';
import type { Clock } from '#apimachinery/clock.js';
import { csiErrorOf } from '#nodeagent/csi/driver/errors.js';
import { type CallObserver, NodeService } from '#nodeagent/csi/driver/node-service.js';
import type { Version } from '#nodeagent/csi/driver/versions.js';
import { GrpcChannel } from '#nodeagent/grpc/channel.js';
import { csiV1 } from '#nodeagent/protocols/csi-v1.gen.js';

interface Driver {
  /** Path of the socket. */
  readonly endpoint: string;
  readonly version: Version;
}

export interface DriversOptions {
  readonly clock: Clock;
  /** Limit of an operation, by default two minutes as in 1.24. */
  readonly timeoutMs?: number;
  /** Told about each call, with the driver's name. */
  readonly onCall?: (driver: string, ...call: Parameters<CallObserver>) => void;
}

const defaultTimeoutMs = 120_000;
/** Larger responses of drivers are refused; the default of gRPC. */
const maxMessageBytes = 4 * 1024 * 1024;

export class Drivers {
  readonly #options: DriversOptions;
  readonly #drivers = new Map<string, Driver>();
  #root: protobuf.Root | undefined;

  constructor(options: DriversOptions) {
    this.#options = options;
  }

  get(name: string): Driver | undefined {
    return this.#drivers.get(name);
  }

  set(name: string, driver: Driver): void {
    this.#drivers.set(name, driver);
  }

  delete(name: string): void {
    this.#drivers.delete(name);
  }

  /**
   * Runs one operation with its own connection, as 1.24 does: a restarted driver may listen on another file of the same
   * name. Throws Error if the driver is not registered.
   */
  async operate<T>(name: string, operation: (service: NodeService) => Promise<T>): Promise<T> {
    const { clock, timeoutMs = defaultTimeoutMs, onCall } = this.#options;
    if (name === '') throw new Error('driver name is empty');
    const driver = this.#drivers.get(name);
    if (driver === undefined) throw new Error(`driver name ${name} not found in the list of registered CSI drivers`);
    this.#root ??= protobuf.Root.fromJSON(csiV1);
    const channel = new GrpcChannel({
      ...{ socket: driver.endpoint, root: this.#root, timeoutMs, maxMessageBytes },
      strictText: true,
      translate: csiErrorOf,
    });
    try {
      return await operation(
        new NodeService({ channel, clock, timeoutMs, onCall: onCall && ((...call) => onCall(name, ...call)) }),
      );
    } finally {
      channel.close();
    }
  }
}
