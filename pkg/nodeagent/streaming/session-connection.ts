/** The socket of an upgraded connection: detects idle and dead peers, and closes gracefully. */

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { probePeer } from '#daemon/streaming/tunnel.js';

/** Writes detect a dead client, even while nothing is read. */
const pingMs = 30_000;
const keepAliveMs = 30_000;
/** Time for a client to read the last data and to close its side. */
const lingerMs = 10_000;

export interface SessionConnectionOptions {
  readonly socket: Duplex;
  readonly clock: Clock;
  /** Idle time after which the connection is closed; 0: none. */
  readonly idleTimeoutMs: number;
}

export class SessionConnection {
  readonly socket: Duplex;
  readonly #clock: Clock;
  readonly #idle: IdleTimer;
  readonly #disconnected = new AbortController();
  #ping: Timer | undefined;
  #linger: Timer | undefined;

  constructor({ socket, clock, idleTimeoutMs }: SessionConnectionOptions) {
    this.socket = socket;
    this.#clock = clock;
    this.#idle = new IdleTimer(clock, idleTimeoutMs, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#idle.cancel();
      this.#ping?.cancel();
      this.#linger?.cancel();
      this.#disconnected.abort();
    });
    if (socket.destroyed) this.#disconnected.abort();
    // TCP keep-alive detects a vanished peer.
    if (socket instanceof Socket) socket.setKeepAlive(true, keepAliveMs);
  }

  /** Aborted when the socket is closed. */
  get gone(): AbortSignal {
    return this.#disconnected.signal;
  }

  /** Records data in either direction. */
  touch = (): void => this.#idle.touch();

  /** Detects a dead client of a protocol without pings, or of a passed-through protocol. */
  watchPeer(): void {
    probePeer(this.socket, this.#clock);
  }

  /** Calls `ping` every 30 s while the connection lives. */
  keepAsking(ping: () => void): void {
    this.#ping = this.#clock.setTimer(() => {
      if (this.socket.destroyed) return;
      ping();
      this.keepAsking(ping);
    }, pingMs);
  }

  /** Closes the session, leaving the client time to read remaining data and to close its side. */
  linger(left = Number.POSITIVE_INFINITY): void {
    const { socket } = this;
    const { writableLength } = socket;
    if (socket.destroyed || this.#linger !== undefined) return;
    this.#linger = this.#clock.setTimer(() => {
      this.#linger = undefined;
      // Wait for slow clients as long as they make progress.
      if (socket.writableLength > 0 && socket.writableLength < Math.min(left, writableLength))
        this.linger(writableLength);
      else socket.destroy();
    }, lingerMs);
  }

  /** Ends the session if the client has not. */
  abort(): void {
    this.#disconnected.abort();
  }
}

/** Expires after an idle time. */
class IdleTimer {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #expire: () => void;
  #active: number;
  #timer: Timer | undefined;

  /** `idleMs`: 0 for never. */
  constructor(clock: Clock, idleMs: number, expire: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#expire = expire;
    this.#active = clock.monotonic();
    if (idleMs > 0) this.#arm(idleMs);
  }

  /** Records activity. Cheap, since the timer checks only when it fires. */
  touch(): void {
    this.#active = this.#clock.monotonic();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.setTimer(() => {
      const remainingMs = this.#active + this.#idleMs - this.#clock.monotonic();
      if (remainingMs <= 0) this.#expire();
      else this.#arm(remainingMs);
    }, ms);
  }
}
