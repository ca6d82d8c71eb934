/**
 * Begins TLS handshakes one at a time, and those of different clients in turn: a handshake costs more than most requests,
 * and it costs the server before it knows the client. A handshake begins when its client has sent something, so that silent
 * clients delay no others.
 */
import type { Socket } from 'node:net';
import type { Clock } from '#apimachinery/clock.js';

export interface HandshakesOptions {
  readonly clock: Clock;
  /** For the client's first bytes. */
  readonly waitMs: number;
  /** Calls back after other work. */
  readonly defer: (then: () => void) => unknown;
  /** Whether the client goes before others. */
  readonly isPreferred: (client: string) => boolean;
}

/** Of so many handshakes, one is of the other clients, if any waits. */
const oneOf = 4;

type Line = Map<string, (() => void)[]>;

export class Handshakes {
  readonly #options: HandshakesOptions;
  /** Clients in turn, with what each waits for. */
  readonly #line: Line = new Map();
  readonly #preferred: Line = new Map();
  /** Begun so far. */
  #count = 0;
  #running = false;

  constructor(options: HandshakesOptions) {
    this.#options = options;
  }

  /** Calls `begin` when it is this client's turn. */
  await(socket: Socket, client: string, begin: () => void): void {
    const { clock, waitMs } = this.#options;
    const timer = clock.setTimer(() => socket.destroy(), waitMs);
    const stop = () => {
      timer.cancel();
      socket.off('readable', greeted).off('end', cut).off('error', cut).off('close', stop);
    };
    const cut = () => {
      stop();
      socket.destroy();
    };
    const greeted = () => {
      if (socket.readableLength === 0) return;
      this.#add(client, () => {
        stop();
        if (!socket.destroyed) begin();
      });
      socket.off('readable', greeted);
    };
    socket.on('readable', greeted).on('end', cut).on('error', cut).on('close', stop);
  }

  #add(client: string, begin: () => void): void {
    const clients = this.#options.isPreferred(client) ? this.#preferred : this.#line;
    const line = clients.get(client);
    if (line === undefined) clients.set(client, [begin]);
    else line.push(begin);
    if (this.#running) return;
    this.#running = true;
    this.#options.defer(this.#run);
  }

  readonly #run = (): void => {
    this.#count += 1;
    const others = this.#preferred.size === 0 || (this.#count % oneOf === 0 && this.#line.size > 0);
    takeFrom(others ? this.#line : this.#preferred)?.();
    this.#running = this.#line.size + this.#preferred.size > 0;
    if (this.#running) this.#options.defer(this.#run);
  };
}

function takeFrom(clients: Line): (() => void) | undefined {
  const [next] = clients;
  if (next === undefined) return undefined;
  const [client, line] = next;
  clients.delete(client);
  const begin = line.shift();
  // Behind all other clients.
  if (line.length > 0) clients.set(client, line);
  return begin;
}
