/** What all of the server's WebSocket connections have in common. */
import { WebSocket } from 'ws';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';

export interface MessageSenderOptions {
  readonly clock: Clock;
  /** A client that takes nothing for so long is cut off. */
  readonly stallMs: number;
}

/** Messages to clients, one at a time, and only as long as the client takes what it is sent. */
export class MessageSender {
  readonly #options: MessageSenderOptions;

  constructor(options: MessageSenderOptions) {
    this.#options = options;
  }

  /**
   * False when the client is gone, or was cut because it takes nothing. Waits until the message has left, so that a slow
   * client is not queued up for.
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

/** How a WebSocket subprotocol begins that is no protocol but a token. It is never answered with. */
export const tokenSubprotocolPrefix = (dialect: Dialect): string =>
  `base64url.bearer.authorization.${dialect.apiDomain}.`;
