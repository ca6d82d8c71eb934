/**
 * Upgraded connections (WebSocket, or whatever the client asks for): the request is sent to the backend as it came and
 * from then on bytes go both ways untouched, so that the protocol inside ends in the backend.
 */
import { connect as connectPlain, isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { internalError } from '#apimachinery/errors/status.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import { authority, type Backend, forwardedHeaders, tlsOptions } from '#apiserver/streaming/backend.js';

export interface TunnelOptions {
  readonly backend: Backend;
  readonly request: ApiRequest;
  /** Path and query at the backend. */
  readonly path: string;
  /** Prefix of the subprotocol in which browsers carry their token; the backend does not get it. */
  readonly tokenProtocolPrefix: string;
  /** The client's side; owned from here on once the backend is connected. */
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Ends the tunnel. */
  readonly signal: AbortSignal;
}

const keepAliveMs = 30_000;

/** Resolves when both sides are connected. Throws 500 when the backend cannot be reached; the client's side is untouched then. */
export async function openTunnel(options: TunnelOptions): Promise<void> {
  const { socket, head, signal } = options;
  const upstream = await dial(options.backend);
  if (signal.aborted || socket.destroyed) {
    upstream.destroy();
    return;
  }
  upstream.setNoDelay(true);
  // A side that ended its half may be gone altogether: probes of the connection tell.
  upstream.setKeepAlive(true, keepAliveMs);
  if (socket instanceof Socket) socket.setKeepAlive(true, keepAliveMs);
  const end = () => {
    upstream.destroy();
    socket.destroy();
  };
  signal.addEventListener('abort', end, { once: true });
  // A failure of one side ends both; there is no one to report it to but the other side, which sees the end.
  upstream.on('error', end);
  socket.on('error', end);
  upstream.once('close', () => {
    signal.removeEventListener('abort', end);
    // What the backend said last must still reach the client.
    if (socket.writableEnded) return;
    socket.end();
  });
  socket.once('close', () => upstream.destroy());
  upstream.write(requestHead(options));
  if (head.length > 0) upstream.write(head);
  upstream.pipe(socket);
  socket.pipe(upstream);
}

function dial(backend: Backend): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { host, port, tls } = backend;
    const target = { host, port };
    const socket =
      tls === undefined
        ? connectPlain(target)
        : connectTls({ ...target, ...tlsOptions(tls), ...(isIP(host) === 0 ? { servername: host } : {}) });
    const failed = (error: Error) => {
      reject(internalError(new Error(`error dialing backend: ${error.message}`, { cause: error })));
    };
    socket.once('error', failed);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      socket.off('error', failed);
      resolve(socket);
    });
  });
}

function requestHead({ backend, request, path, tokenProtocolPrefix }: TunnelOptions): string {
  const headers: Record<string, string> = {
    ...forwardedHeaders(request.headers),
    host: authority(backend),
    connection: 'Upgrade',
    upgrade: request.headers['upgrade'] ?? 'websocket',
  };
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((part) => part.trim());
  const kept = protocols.filter((protocol) => protocol !== '' && !protocol.startsWith(tokenProtocolPrefix));
  if (kept.length > 0) headers['sec-websocket-protocol'] = kept.join(', ');
  else delete headers['sec-websocket-protocol'];
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${request.method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
