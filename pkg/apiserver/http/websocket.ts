/** Sending messages over the server's WebSocket connections. */
import { WebSocket } from 'ws';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';

export interface MessageSenderOptions {
  readonly clock: Clock;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
}

/** Sends one message at a time, and disconnects clients that stop reading. */
export class MessageSender {
  readonly #options: MessageSenderOptions;

  constructor(options: MessageSenderOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the message is written, so that nothing is queued for a slow client. False if the client has disconnected or
   * was disconnected.
   */
  send(client: WebSocket, message: string | Buffer): Promise<boolean> {
    if (client.readyState !== WebSocket.OPEN) return Promise.resolve(false);
    const { clock, stallMs } = this.#options;
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      let sent = false;
      client.send(message, (error) => {
        sent = true;
        timer?.cancel();
        resolve(!error);
      });
      if (!sent) timer = clock.setTimer(() => client.terminate(), stallMs);
    });
  }
}

/** Prefix of a WebSocket subprotocol that carries a bearer token; the server never selects it. */
export const tokenSubprotocolPrefix = (dialect: Dialect): string =>
  `base64url.bearer.authorization.${dialect.apiDomain}.`;
