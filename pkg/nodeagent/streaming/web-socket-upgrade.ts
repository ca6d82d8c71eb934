/** The WebSocket handshake with a subprotocol that was chosen already. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

/** Largest message that a client may send: release 1.24's. */
const maxMessageBytes = 32 * 1024 * 1024;

export class WebSocketUpgrader {
  readonly #chosen = new WeakMap<IncomingMessage, string>();
  readonly #server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: maxMessageBytes });

  constructor() {
    this.#server.on('headers', (headers, request) => {
      const protocol = this.#chosen.get(request) ?? '';
      if (protocol !== '') headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
    });
  }

  /** Undefined when the client has gone, or has sent no proper handshake and was told so. */
  accept(
    upgrade: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
    protocol: string,
  ): Promise<WebSocket | undefined> {
    const { request, socket, head } = upgrade;
    // The library refuses the slash that one of the names has, so it does not see them.
    delete request.headers['sec-websocket-protocol'];
    this.#chosen.set(request, protocol);
    return new Promise((resolve) => {
      socket.once('close', () => resolve(undefined));
      this.#server.handleUpgrade(request, socket, head, resolve);
    });
  }

  close(): void {
    this.#server.close();
  }
}
