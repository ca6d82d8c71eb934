/**
 * The connections of a server: who is at the other end of each, how much is open on it, and which HTTP/2 connections
 * have carried nothing for so long that they are to end. (Those of HTTP/1.1 are timed by Node.js's server itself.)
 */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Peer } from '#apiserver/http/server-request.js';
import { tcpKeepAliveMs } from '#daemon/serving/connection-limits.js';

export interface ConnectionsOptions {
  readonly clock: Clock;
  /** An HTTP/2 connection without requests for so long is told to go away. What is no request, such as a ping, is none. */
  readonly idleMs: number;
  /** Whether clients are asked for a certificate. */
  readonly asksForCertificates: () => boolean;
}

export interface Connection {
  readonly peer: Peer;
  /** Requests that are not answered yet. */
  open: number;
  /** All that there were. */
  served: number;
  /** Over HTTP/1.1: what begins when the request under way has been answered. */
  readonly waiting: (() => void)[];
}

interface Idle {
  /** Requests that had been served at the last look. */
  served: number;
  sinceMs: number;
}

/** Looks within the time that a connection may be idle. */
const looks = 6;

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<Http2Session, Idle>();
  /** By socket or session, as long as that lasts. */
  readonly #connections = new WeakMap<object, Connection>();
  #timer: Timer | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setKeepAlive(true, tcpKeepAliveMs);
    socket.setNoDelay(true);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  addSession(session: Http2Session): void {
    this.#sessions.set(session, { served: 0, sinceMs: this.#options.clock.monotonic() });
    session.once('close', () => this.#sessions.delete(session));
    this.#timer ??= this.#options.clock.setTimer(this.#look, this.#options.idleMs / looks);
  }

  /** The connection that this socket or session is, once there was a request on it. */
  get(carrier: object): Connection | undefined {
    return this.#connections.get(carrier);
  }

  /** The connection that a request came on. */
  of(raw: IncomingMessage | Http2ServerRequest): Connection {
    // A request over HTTP/2 makes up a socket of its own when it is asked for one; its session has the same one always.
    const carrier = 'stream' in raw ? (raw.stream.session ?? raw.stream) : raw.socket;
    let connection = this.#connections.get(carrier);
    if (connection === undefined) {
      const socket = ('stream' in raw ? (raw.stream.session?.socket ?? raw.socket) : raw.socket) as TLSSocket;
      // As the client showed it; whether it is to be trusted is for the authenticator to say.
      const certificate = this.#options.asksForCertificates() ? socket.getPeerX509Certificate?.()?.raw : undefined;
      connection = { peer: { address: socket.remoteAddress ?? '', certificate }, open: 0, served: 0, waiting: [] };
      this.#connections.set(carrier, connection);
    }
    return connection;
  }

  /** Lets what is under way on HTTP/2 connections end, and takes nothing new on them. */
  drain(): void {
    for (const session of this.#sessions.keys()) session.close();
  }

  destroy(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const session of this.#sessions.keys()) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  readonly #look = (): void => {
    const { clock, idleMs } = this.#options;
    const nowMs = clock.monotonic();
    for (const [session, idle] of this.#sessions) {
      const { open = 0, served = 0 } = this.#connections.get(session) ?? {};
      if (open > 0 || served !== idle.served) {
        idle.served = served;
        idle.sinceMs = nowMs;
      } else if (nowMs - idle.sinceMs >= idleMs) {
        // At the first time it is told; one that does not go is cut at the second.
        if (session.closed) session.destroy();
        else session.close();
      }
    }
    this.#timer = this.#sessions.size === 0 ? undefined : clock.setTimer(this.#look, idleMs / looks);
  };
}
