/** HTTP/2: all requests on one connection, on more when the server allows no more streams, on a new one when it broke. */
import type { Socket } from 'node:net';
import type { Clock } from '#apimachinery/clock.js';
import {
  type Channel,
  type ChannelRequest,
  type ChannelResponse,
  orAborted,
  UnsentError,
} from '#client/http/channel.js';
import { Http2Session } from '#client/http/http2-session.js';
import { TransportError } from '#client/http/transport-error.js';

export interface Http2Options {
  readonly origin: string;
  readonly clock: Clock;
  /** A connection that speaks HTTP/2. */
  readonly dial: () => Promise<Socket>;
  readonly first?: Socket | undefined;
}

/** When all of these are full, requests wait for a stream of the emptiest. */
const maxSessions = 16;

export class Http2Channel implements Channel {
  readonly #options: Http2Options;
  /** Those that still carry something, whether or not they take more. */
  readonly #sessions = new Set<Http2Session>();
  #connecting: Promise<void> | undefined;
  #closed = false;

  constructor(options: Http2Options) {
    this.#options = options;
    if (options.first !== undefined) this.#adopt(options.first);
  }

  async send(request: ChannelRequest): Promise<ChannelResponse> {
    const session = await this.#session(request.signal);
    return session.send(request, request.headers);
  }

  retire(): void {
    this.#closed = true;
    for (const session of this.#sessions) session.retire();
  }

  destroy(): void {
    this.#closed = true;
    for (const session of [...this.#sessions]) session.destroy();
  }

  async #session(signal: AbortSignal): Promise<Http2Session> {
    for (;;) {
      if (this.#closed) throw new UnsentError('the channel takes no requests');
      const usable = [...this.#sessions].filter((session) => session.usable);
      const free = usable.find((session) => session.hasRoom);
      if (free !== undefined) return free;
      if (usable.length >= maxSessions) {
        return usable.reduce((least, session) => (session.streams < least.streams ? session : least));
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
    const session: Http2Session = new Http2Session({
      socket,
      origin,
      clock,
      onClosed: () => this.#sessions.delete(session),
    });
    this.#sessions.add(session);
  }
}
