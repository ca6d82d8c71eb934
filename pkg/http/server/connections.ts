/**
 * A server's connections: their peers, open requests, and idle HTTP/2 connections to close. (Node.js's server times
 * HTTP/1.1 connections itself.)
 */

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { tcpKeepAliveMs } from '#daemon/serving/connection-limits.js';
import type { Accounts } from '#http/server/accounts.js';
import { ClientConnections, type HeldConnection } from '#http/server/client-connections.js';
import type { Account, Peer } from '#http/server/exchange.js';
import type { FadingAccount } from '#http/server/server-request.js';

export interface ConnectionsOptions {
  readonly clock: Clock;
  /** An HTTP/2 connection without requests for this long is told to go away; pings do not count. */
  readonly idleMs: number;
  /** A client that accepts nothing of a complete response for this long loses it. */
  readonly stallMs: number;
  readonly maxConnections: number;
  readonly accounts: Accounts;
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
/** Limits of preferred networks. */
const preferredMs = 3_600_000;
const maxPreferred = 20_000;

type Claimed = (user: string, account: FadingAccount) => void;

class SocketPeer implements Peer {
  readonly address: string;
  readonly certificate: Buffer | undefined;
  user: string | undefined;
  account: Account;
  readonly #accounts: Accounts;
  readonly #claimed: Claimed;

  constructor(address: string, certificate: Buffer | undefined, accounts: Accounts, claimed: Claimed) {
    this.address = address;
    this.certificate = certificate;
    this.#accounts = accounts;
    this.account = accounts.ofAddress(address);
    this.#claimed = claimed;
  }

  claim(user: string, groups: readonly string[]): void {
    this.user = user;
    const account = this.#accounts.ofUser(user, groups);
    this.account = account;
    this.#claimed(user, account);
  }
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #sockets = new Set<Socket>();
  readonly #clients: ClientConnections;
  /** Networks of the users that may use more than others, and when one was last there; monotonic ms. */
  readonly #preferred = new Map<string, number>();
  /** By address and port of the client. */
  readonly #held = new Map<string, HeldConnection>();
  readonly #sessions = new Map<EndingSession, Idle>();
  /** Lives as long as the socket. */
  readonly #connections = new WeakMap<Socket, Connection>();
  #timer: Timer | undefined;
  /** The server is closing: connections end with their current response. */
  closing = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#clients = new ClientConnections(options.maxConnections);
  }

  /** Connections, including those without a handshake. */
  get count(): number {
    return this.#clients.count;
  }

  /** Admits a connection whose handshake is to come. Others may be closed for it. */
  admit(socket: Socket): void {
    const { remoteAddress, remotePort } = socket;
    if (remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const place = `${remoteAddress} ${remotePort}`;
    const held = this.#clients.add(remoteAddress, socket);
    this.#held.set(place, held);
    socket.once('close', () => {
      this.#clients.remove(held);
      if (this.#held.get(place) === held) this.#held.delete(place);
    });
  }

  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setKeepAlive(true, tcpKeepAliveMs);
    socket.setNoDelay(true);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Whether a user that may use more than others was at this network lately. */
  isPreferred(network: string): boolean {
    const seenMs = this.#preferred.get(network);
    if (seenMs === undefined) return false;
    if (this.#options.clock.monotonic() - seenMs < preferredMs) return true;
    this.#preferred.delete(network);
    return false;
  }

  #prefer(network: string): void {
    // The oldest are the first.
    this.#preferred.delete(network);
    this.#preferred.set(network, this.#options.clock.monotonic());
    const [oldest] = this.#preferred.keys();
    if (this.#preferred.size > maxPreferred && oldest !== undefined) this.#preferred.delete(oldest);
  }

  /** The TLS socket of a connection is another than the admitted one. */
  #claim({ remoteAddress, remotePort }: Socket, user: string, account: FadingAccount): void {
    const held = this.#held.get(`${remoteAddress} ${remotePort}`);
    if (held === undefined) return;
    this.#clients.claim(held, user);
    if (account.weight > 1) this.#prefer(held.address);
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
      const { accounts } = this.#options;
      const peer = new SocketPeer(socket.remoteAddress ?? '', certificate, accounts, (user, account) =>
        this.#claim(socket, user, account),
      );
      connection = { peer, open: 0, served: 0, waiting: [] };
      this.#connections.set(socket, connection);
    }
    return connection;
  }

  /** Completes running requests of HTTP/2 connections and accepts no new ones. */
  drain(): void {
    this.closing = true;
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
