/**
 * An answer's body as WebSocket messages, for clients in browsers that follow a log: bytes, or base64 text in the
 * subprotocol that says so. What the client sends is ignored.
 */
import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { forbidden } from '#apimachinery/errors/status.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import type { UpgradedConnection } from '#apiserver/resources/endpoints.js';
import { logProtocol } from '#daemon/streaming/protocols.js';

export interface WebSocketAnswer extends UpgradedConnection {
  readonly request: ApiRequest;
  readonly answer: ApiResponse;
  /** As `bodyProtocol` has chosen it. */
  readonly protocol: string;
}

/** Largest message that a client may send; it has nothing to say. */
const maxPayloadBytes = 1024;
const protocols: readonly string[] = Object.values(logProtocol);

/** The subprotocol for a client, empty for one that names none. Throws 403 when it asks for others only. */
export function bodyProtocol(request: ApiRequest, tokenProtocolPrefix: string): string {
  const asked = (request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '' && !part.startsWith(tokenProtocolPrefix));
  const protocol = asked.length === 0 ? '' : asked.find((each) => protocols.includes(each));
  if (protocol !== undefined) return protocol;
  const lists = `[${asked.join(' ')}]; supports [${protocols.join(' ')}]`;
  throw forbidden({ group: '', resource: '' }, '', `requested protocol(s) are not supported: ${lists}`);
}

/** Resolves when the body has ended, or the client is gone or was cut; the request's signal ends the body then. */
export async function sendOverWebSocket(options: WebSocketAnswer): Promise<void> {
  const { answer, protocol, messages } = options;
  const client = await accept(options);
  if (client === undefined) return;
  client.on('error', () => undefined);
  const base64 = protocol === logProtocol.base64;
  // The first message tells that the connection stands.
  let open = await messages.send(client, base64 ? '' : Buffer.alloc(0));
  for await (const chunk of parts(answer)) {
    open &&= await messages.send(client, base64 ? chunk.toString('base64') : chunk);
    if (!open) break;
  }
  client.close(1000);
}

function accept({ request, protocol, socket, head }: WebSocketAnswer): Promise<WebSocket | undefined> {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxPayloadBytes,
    handleProtocols: () => (protocol === '' ? false : protocol),
  });
  const { method, url, headers } = request;
  return new Promise((resolve) => {
    socket.once('close', () => resolve(undefined));
    // Only these three are looked at; what is wrong with them is answered by the library.
    server.handleUpgrade({ method, url, headers } as IncomingMessage, socket, head, resolve);
  });
}

async function* parts({ body }: ApiResponse): AsyncGenerator<Buffer> {
  if (body === undefined) return;
  if (Buffer.isBuffer(body)) yield body;
  else yield* body;
}
