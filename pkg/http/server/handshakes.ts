/**
 * Begins TLS handshakes one at a time, and those of different clients in turn: a handshake costs more than most requests,
 * and it costs the server before it knows the client. A handshake begins when its client has sent something, so that silent
 * clients delay no others.
 *
 * Node.js accepts one connection in each turn of the event loop, in the order of their arrival. So while connections arrive,
 * handshakes wait for some turns: a crowd of clients then waits here, where others go before it, not in the system's queue.
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
/** Turns that accept connections without a handshake. */
const maxAccepting = 16;

type Line = Map<string, (() => void)[]>;

export class Handshakes {
  readonly #options: HandshakesOptions;
  /** Clients in turn, with what each waits for. */
  readonly #line: Line = new Map();
  readonly #preferred: Line = new Map();
  /** Begun so far. */
  #count = 0;
  #running = false;
  /** Connections so far. */
  #accepted = 0;
  /** Of these, those that a turn, or a client that has sent something, came after. */
  #past = 0;
  /** Turns without a handshake so far. */
  #accepting = 0;

  constructor(options: HandshakesOptions) {
    this.#options = options;
  }

  /** Calls `begin` when it is this client's turn. */
  await(socket: Socket, client: string, begin: () => void): void {
    const { clock, waitMs } = this.#options;
    this.#accepted += 1;
    const own = this.#accepted;
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
      this.#past = Math.max(this.#past, own);
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
    const line = this.#next();
    if (line !== undefined) takeFrom(line)?.();
    this.#running = this.#line.size + this.#preferred.size > 0;
    if (this.#running) this.#options.defer(this.#run);
  };

  /** Whose turn it is; undefined: the next connection's. */
  #next(): Line | undefined {
    const accepts = this.#accepted > this.#past && this.#accepting < maxAccepting;
    this.#past = this.#accepted;
    const others = this.#preferred.size === 0 || (this.#count % oneOf === oneOf - 1 && this.#line.size > 0);
    if (!others || !accepts) {
      this.#accepting = 0;
      this.#count += 1;
      return others ? this.#line : this.#preferred;
    }
    this.#accepting += 1;
    return this.#preferred.size > 0 ? this.#preferred : undefined;
  }
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
