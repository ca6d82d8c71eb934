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
}

export class Handshakes {
  readonly #options: HandshakesOptions;
  /** Clients in turn, with what each waits for. */
  readonly #line = new Map<string, (() => void)[]>();
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
    const line = this.#line.get(client);
    if (line === undefined) this.#line.set(client, [begin]);
    else line.push(begin);
    if (this.#running) return;
    this.#running = true;
    this.#options.defer(this.#run);
  }

  readonly #run = (): void => {
    const [next] = this.#line;
    if (next !== undefined) {
      const [client, line] = next;
      this.#line.delete(client);
      const begin = line.shift();
      // Behind all other clients.
      if (line.length > 0) this.#line.set(client, line);
      begin?.();
    }
    this.#running = this.#line.size > 0;
    if (this.#running) this.#options.defer(this.#run);
  };
}
