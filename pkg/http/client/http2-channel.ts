/** HTTP/2: all requests on one connection, on more when the server allows no more streams, on a new one when it broke. */
import type { Socket } from 'node:net';
import type { Clock } from '#apimachinery/clock.js';
import {
  type Channel,
  type ChannelRequest,
  type ChannelResponse,
  orAborted,
  UnsentError,
} from '#http/client/channel.js';
import { Http2Connection } from '#http/client/http2-connection.js';
import { TransportError } from '#http/client/transport-error.js';

export interface Http2Options {
  readonly origin: string;
  readonly clock: Clock;
  /** A connection that speaks HTTP/2. */
  readonly dial: () => Promise<Socket>;
  readonly first?: Socket | undefined;
}

/** When all of these are full, requests wait for a stream of the emptiest. */
const maxConnections = 16;

export class Http2Channel implements Channel {
  readonly #options: Http2Options;
  /** Those that still carry something, whether or not they take more. */
  readonly #connections = new Set<Http2Connection>();
  #connecting: Promise<void> | undefined;
  #closed = false;

  constructor(options: Http2Options) {
    this.#options = options;
    if (options.first !== undefined) this.#adopt(options.first);
  }

  async send(request: ChannelRequest): Promise<ChannelResponse> {
    const connection = await this.#connection(request.signal);
    return connection.send(request);
  }

  retire(): void {
    this.#closed = true;
    for (const connection of this.#connections) connection.retire();
  }

  destroy(): void {
    this.#closed = true;
    for (const connection of [...this.#connections]) connection.destroy();
  }

  async #connection(signal: AbortSignal): Promise<Http2Connection> {
    for (;;) {
      if (this.#closed) throw new UnsentError('the channel takes no requests');
      const usable = [...this.#connections].filter((connection) => connection.usable);
      const free = usable.find((connection) => connection.hasRoom);
      if (free !== undefined) return free;
      if (usable.length >= maxConnections) {
        return usable.reduce((least, connection) => (connection.streams < least.streams ? connection : least));
      }
      this.#connecting ??= this.#connect().finally(() => {
        this.#connecting = undefined;
      });
      await orAborted(this.#connecting, signal);
    }
  }

  async #connect(): Promise<void> {
    const socket = await this.#options.dial();
    if (this.#closed) {
      socket.destroy();
      throw new TransportError('Closed', 'the connection is closed');
    }
    this.#adopt(socket);
  }

  #adopt(socket: Socket): void {
    const { origin, clock } = this.#options;
    const connection: Http2Connection = new Http2Connection({
      socket,
      origin,
      clock,
      onClosed: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
  }
}
