/**
 * Port forwarding: a SPDY session inside a WebSocket (KEP-4006) carries a pair of streams (data and error) for each local
 * connection.
 */

import type { ClientRequest } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { createWebSocketStream } from 'ws';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { WebSocketTarget } from '#cmd/orchctl/api/api.js';
import { opened, openWebSocket } from '#cmd/orchctl/streams/remote.js';
import { SpdySession } from '#daemon/streaming/spdy/session.js';

export interface PortForward {
  readonly target: WebSocketTarget;
  readonly addresses: readonly string[];
  /** 0: any free port. */
  readonly local: number;
  readonly remote: number;
  readonly signal: AbortSignal;
  listening(address: string, port: number): void;
  accepted(port: number): void;
  failed(message: string): void;
}

const protocol = `SPDY/3.1+portforward.${kubernetesDialect.apiDomain}`;

/**
 * Negotiates the subprotocol without the WebSocket library, which refuses its name because RFC 6455 does not allow the
 * slash in it.
 */
function negotiate(request: ClientRequest): void {
  request.setHeader('Sec-WebSocket-Protocol', protocol);
  request.prependListener('upgrade', (response) => {
    if (response.headers['sec-websocket-protocol'] !== protocol)
      request.destroy(new Error('the server does not support port forwarding'));
    delete response.headers['sec-websocket-protocol'];
  });
  request.end();
}

/** Resolves when the connection to the cluster ends. Rejects if it fails, or if no local listener can be opened. */
export async function forwardPort(forward: PortForward): Promise<void> {
  const { target, signal } = forward;
  const socket = openWebSocket(target, [], { finishRequest: negotiate });
  await opened(socket);
  const session = new SpdySession(createWebSocketStream(socket), 'client');
  const over = new Promise<void>((resolve) => session.once('close', resolve));
  let requests = 0;
  const listeners = await listen(forward, (connection, port) => {
    forward.accepted(port);
    handle(session, connection, forward, requests++);
  });
  const stop = () => session.close();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await over;
  for (const listener of listeners) listener.close();
  socket.terminate();
}

/** Listens on all addresses of the name; one success is enough. */
async function listen(
  forward: PortForward,
  onConnection: (connection: Socket, port: number) => void,
): Promise<Server[]> {
  const listeners: Server[] = [];
  let failure: unknown;
  let port = forward.local;
  for (const address of forward.addresses) {
    const server = createServer((connection) => onConnection(connection, port));
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host: address, port }, resolve);
      });
    } catch (error) {
      // A machine may lack IPv6.
      failure = error;
      continue;
    }
    const bound = server.address();
    if (typeof bound === 'object' && bound !== null) port = bound.port;
    forward.listening(address, port);
    listeners.push(server);
  }
  if (listeners.length === 0) throw failure;
  return listeners;
}

function handle(session: SpdySession, connection: Socket, forward: PortForward, request: number): void {
  const headers = { port: String(forward.remote), requestid: String(request) };
  try {
    const errors = session.open({ ...headers, streamtype: 'error' });
    errors.end();
    const parts: Buffer[] = [];
    errors.on('data', (part: Buffer) => parts.push(part));
    errors.on('end', () => {
      if (parts.length === 0) return;
      forward.failed(`an error occurred forwarding to ${forward.remote}: ${Buffer.concat(parts).toString('utf8')}`);
      connection.destroy();
    });
    const data = session.open({ ...headers, streamtype: 'data' });
    pipeline(connection, data, () => undefined);
    pipeline(data, connection, () => undefined);
  } catch (error) {
    forward.failed(messageOf(error));
    connection.destroy();
  }
}
