/**
 * A server's connections: their peers, open requests, and idle HTTP/2 connections to close. (Node.js's server times
 * HTTP/1.1 connections itself.)
 */

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { tcpKeepAliveMs } from '#daemon/serving/connection-limits.js';
import type { Peer } from '#http/server/exchange.js';

export interface ConnectionsOptions {
  readonly clock: Clock;
  /** An HTTP/2 connection without requests for this long is told to go away; pings do not count. */
  readonly idleMs: number;
  /** A client that accepts nothing of a complete response for this long loses it. */
  readonly stallMs: number;
  /** Whether clients are asked for a certificate. */
  readonly asksForCertificates: () => boolean;
}

/** The part of an HTTP/2 session that ends it. */
export interface EndingSession {
  /** The client was told to go away. */
  readonly leaving: boolean;
  /** Completes running requests and accepts no new ones. */
  goAway(): void;
  /** Resets responses that have waited for the client since before `sinceMs`. */
  resetStalled(sinceMs: number): void;
  destroy(cause: Error | undefined): void;
}

export interface Connection {
  readonly peer: Peer;
  /** Requests without a complete response. */
  open: number;
  /** All requests so far. */
  served: number;
  /** HTTP/1.1 only: pipelined requests, started after the current response. */
  readonly waiting: (() => void)[];
}

interface Idle {
  readonly connection: Connection;
  /** `served` at the last check. */
  served: number;
  sinceMs: number;
}

const checksPerIdleTime = 6;

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<EndingSession, Idle>();
  /** Lives as long as the socket. */
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
    this.#timer ??= this.#options.clock.setTimer(this.#look, this.#options.idleMs / checksPerIdleTime);
  }

  removeSession(session: EndingSession): void {
    this.#sessions.delete(session);
  }

  /** The connection of a socket; undefined before its first request. */
  get(socket: Socket): Connection | undefined {
    return this.#connections.get(socket);
  }

  /** The connection that a request arrived on. */
  of(socket: TLSSocket): Connection {
    let connection = this.#connections.get(socket);
    if (connection === undefined) {
      // As presented; authenticators decide whether to trust it.
      const certificate = this.#options.asksForCertificates() ? socket.getPeerX509Certificate?.()?.raw : undefined;
      connection = { peer: { address: socket.remoteAddress ?? '', certificate }, open: 0, served: 0, waiting: [] };
      this.#connections.set(socket, connection);
    }
    return connection;
  }

  /** Completes running requests of HTTP/2 connections and accepts no new ones. */
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
        // First ask the client to go; cut the connection at the next timeout.
        if (session.leaving) session.destroy(undefined);
        else session.goAway();
      }
    }
    this.#timer = this.#sessions.size === 0 ? undefined : clock.setTimer(this.#look, idleMs / checksPerIdleTime);
  };
}
