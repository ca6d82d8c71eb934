/** The socket below an upgraded connection: watched for silence and for a peer that is gone, and ended gently. */

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { probePeer } from '#daemon/streaming/tunnel.js';

/** A client that is gone is found out by writing to it, also while it is not read. */
const pingMs = 30_000;
const keepAliveMs = 30_000;
/** Time for a client to take what was written last and to close its side. */
const lingerMs = 10_000;

export interface SessionConnectionOptions {
  readonly socket: Duplex;
  readonly clock: Clock;
  /** Silence after which the connection is cut; 0: none. */
  readonly idleTimeoutMs: number;
}

export class SessionConnection {
  readonly socket: Duplex;
  readonly #clock: Clock;
  readonly #idle: IdleTimer;
  readonly #gone = new AbortController();
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
      this.#gone.abort();
    });
    if (socket.destroyed) this.#gone.abort();
    // A peer that has vanished without a word: probes of the connection tell.
    if (socket instanceof Socket) socket.setKeepAlive(true, keepAliveMs);
  }

  /** Aborted when the socket is closed. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Data went one way or the other. */
  touch = (): void => this.#idle.touch();

  /** The same for a protocol that has no pings of its own, or whose bytes only go through. */
  watchPeer(): void {
    probePeer(this.socket, this.#clock);
  }

  /** Calls `ping` every half a minute for as long as the connection lives. */
  keepAsking(ping: () => void): void {
    this.#ping = this.#clock.setTimer(() => {
      if (this.socket.destroyed) return;
      ping();
      this.keepAsking(ping);
    }, pingMs);
  }

  /** The session is over: the client has some time left to take what was written and to close from its side. */
  linger(left = Number.POSITIVE_INFINITY): void {
    const { socket } = this;
    const { writableLength } = socket;
    if (socket.destroyed || this.#linger !== undefined) return;
    this.#linger = this.#clock.setTimer(() => {
      this.#linger = undefined;
      // A slow client may take all the time it needs, one that takes nothing may not.
      if (socket.writableLength > 0 && socket.writableLength < Math.min(left, writableLength))
        this.linger(writableLength);
      else socket.destroy();
    }, lingerMs);
  }

  /** Ends the session for its client, when it has not gone by itself. */
  abort(): void {
    this.#gone.abort();
  }
}

/** Ends what has been silent for too long. */
class IdleTimer {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #expire: () => void;
  #active: number;
  #timer: Timer | undefined;

  /** @param idleMs 0: never. */
  constructor(clock: Clock, idleMs: number, expire: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#expire = expire;
    this.#active = clock.monotonic();
    if (idleMs > 0) this.#arm(idleMs);
  }

  /** Something happened. Costs next to nothing, since the timer runs on and looks when it fires. */
  touch(): void {
    this.#active = this.#clock.monotonic();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.setTimer(() => {
      const left = this.#active + this.#idleMs - this.#clock.monotonic();
      if (left <= 0) this.#expire();
      else this.#arm(left);
    }, ms);
  }
}
