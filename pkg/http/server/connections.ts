/**
 * The connections of a server: who is at the other end of each, how much is open on it, and which HTTP/2 connections
 * have carried nothing for so long that they are to end. (Those of HTTP/1.1 are timed by Node.js's server itself.)
 */

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { tcpKeepAliveMs } from '#daemon/serving/connection-limits.js';
import type { Peer } from '#http/server/exchange.js';

export interface ConnectionsOptions {
  readonly clock: Clock;
  /** An HTTP/2 connection without requests for so long is told to go away. What is no request, such as a ping, is none. */
  readonly idleMs: number;
  /** A client that takes nothing of a whole answer for so long does not get it. */
  readonly stallMs: number;
  /** Whether clients are asked for a certificate. */
  readonly asksForCertificates: () => boolean;
}

/** An HTTP/2 connection as far as its end is concerned. */
export interface EndingSession {
  /** It has been told to go. */
  readonly leaving: boolean;
  /** Lets what is under way end, and takes nothing new. */
  goAway(): void;
  /** Gives up answers that have been waiting for the client since before `sinceMs`. */
  resetStalled(sinceMs: number): void;
  destroy(cause: Error | undefined): void;
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
  readonly connection: Connection;
  /** Requests that had been served at the last look. */
  served: number;
  sinceMs: number;
}

/** Looks within the time that a connection may be idle. */
const looks = 6;

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<EndingSession, Idle>();
  /** As long as the socket lasts. */
  readonly #connections = new WeakMap<Socket, Connection>();
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

  addSession(session: EndingSession, connection: Connection): void {
    this.#sessions.set(session, { connection, served: 0, sinceMs: this.#options.clock.monotonic() });
    this.#timer ??= this.#options.clock.setTimer(this.#look, this.#options.idleMs / looks);
  }

  removeSession(session: EndingSession): void {
    this.#sessions.delete(session);
  }

  /** The connection that this socket is, once there was a request on it. */
  get(socket: Socket): Connection | undefined {
    return this.#connections.get(socket);
  }

  /** The connection that a request came on. */
  of(socket: TLSSocket): Connection {
    let connection = this.#connections.get(socket);
    if (connection === undefined) {
      // As the client showed it; whether it is to be trusted is for the authenticator to say.
      const certificate = this.#options.asksForCertificates() ? socket.getPeerX509Certificate?.()?.raw : undefined;
      connection = { peer: { address: socket.remoteAddress ?? '', certificate }, open: 0, served: 0, waiting: [] };
      this.#connections.set(socket, connection);
    }
    return connection;
  }

  /** Lets what is under way on HTTP/2 connections end, and takes nothing new on them. */
  drain(): void {
    for (const session of [...this.#sessions.keys()]) session.goAway();
  }

  destroy(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const session of [...this.#sessions.keys()]) session.destroy(undefined);
    for (const socket of this.#sockets) socket.destroy();
  }

  readonly #look = (): void => {
    const { clock, idleMs, stallMs } = this.#options;
    const nowMs = clock.monotonic();
    for (const [session, idle] of this.#sessions) {
      const { open, served } = idle.connection;
      if (open > 0) session.resetStalled(nowMs - stallMs);
      if (open > 0 || served !== idle.served) {
        idle.served = served;
        idle.sinceMs = nowMs;
      } else if (nowMs - idle.sinceMs >= idleMs) {
        // At the first time it is told; one that does not go is cut at the second.
        if (session.leaving) session.destroy(undefined);
        else session.goAway();
      }
    }
    this.#timer = this.#sessions.size === 0 ? undefined : clock.setTimer(this.#look, idleMs / looks);
  };
}
