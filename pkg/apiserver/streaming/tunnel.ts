/**
 * Upgraded connections (SPDY, WebSocket, or whatever the client asks for): the request is sent to the backend as it came.
 * When that switches protocols (101), bytes go both ways untouched from then on, so that the protocol inside ends in the
 * backend; any other answer is an ordinary one.
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';
import { badRequest, StatusError } from '#apimachinery/errors/status.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { authority } from '#apiserver/service-routing/address.js';
import { type Backend, dialTarget, forwardedFor, forwardedHeaders, tlsOptions } from '#apiserver/streaming/backend.js';
import { answerOf } from '#apiserver/streaming/http-proxy.js';
import { askPeer } from '#daemon/streaming/ask-peer.js';
import { protocolVersionHeader, spdyUpgrade } from '#daemon/streaming/protocols.js';

export interface TunnelOptions {
  readonly backend: Backend;
  readonly request: ApiRequest;
  /** Path and query at the backend. */
  readonly path: string;
  /** Prefix of the subprotocol in which browsers carry their token; the backend does not get it. */
  readonly tokenProtocolPrefix: string;
  /** Sent besides the client's own. */
  readonly extraHeaders?: Readonly<Record<string, string | string[]>>;
  /** The client's side; owned from here on once the backend has switched protocols. */
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Ends the tunnel. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

const keepAliveMs = 30_000;
/** Time for the backend to answer at all. */
const answerMs = 60_000;
/** Bounds of an answer that is no upgrade: 1.24's time, and more than any message of an error needs. */
const refusalMs = 10_000;
const maxRefusalBytes = 1024 * 1024;
/** Time for a client to take the backend's last words and to hang up. */
const lingerMs = 10_000;

/**
 * Resolves with undefined when both sides are connected, and with the backend's answer when that is an error (400 and
 * above). Throws 500 when the backend cannot be reached, or answers with neither; the client's side is untouched then.
 */
export async function openTunnel(options: TunnelOptions): Promise<ApiResponse | undefined> {
  const { request, socket, signal } = options;
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (encoding !== undefined || Number(length) !== 0) throw badRequest('a request for an upgrade has no body');
  const answer = await ask(options);
  if ('response' in answer) {
    const { response } = answer;
    const { statusCode = 502 } = response;
    if (statusCode < 400) {
      response.destroy();
      throw failed(`invalid upgrade response: status code ${statusCode}`);
    }
    response.socket.setTimeout(refusalMs, () => response.destroy());
    const refusal = answerOf(response, maxRefusalBytes);
    // The end of the connection is the end of what may have been cut.
    const { 'content-length': _, ...headers } = refusal.headers;
    return { ...refusal, headers };
  }
  if (signal.aborted || socket.destroyed) answer.upstream.destroy();
  else join(options, answer);
  return undefined;
}

type Answer =
  | { readonly response: IncomingMessage }
  | { readonly switched: IncomingMessage; readonly upstream: Socket; readonly first: Buffer };

function ask({ backend, request, path, tokenProtocolPrefix, extraHeaders, signal }: TunnelOptions): Promise<Answer> {
  const options: RequestOptions = {
    ...dialTarget(backend),
    method: request.method,
    path,
    headers: { ...requestHeaders(backend, request, tokenProtocolPrefix), ...extraHeaders },
    signal,
    agent: false,
    timeout: answerMs,
  };
  return new Promise((resolve, reject) => {
    const { tls } = backend;
    const outgoing = tls === undefined ? httpRequest(options) : httpsRequest({ ...options, ...tlsOptions(tls) });
    let connected = false;
    outgoing.once('socket', (socket) => {
      socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
        connected = true;
      });
    });
    outgoing.once('upgrade', (switched: IncomingMessage, upstream: Socket, first: Buffer) => {
      upstream.setTimeout(0);
      resolve({ switched, upstream, first });
    });
    outgoing.once('response', (response) => resolve({ response }));
    outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer in ${answerMs / 1000} s`)));
    // Later failures are those of the socket, or of the answer's body.
    outgoing.on('error', (error) => {
      reject(
        failed(
          connected ? `error upgrading connection: ${error.message}` : `error dialing backend: ${error.message}`,
          error,
        ),
      );
    });
    outgoing.end();
  });
}

/** What 1.24 makes of an error that has no Status of its own. */
function failed(message: string, cause?: Error): StatusError {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 } as const;
  return new StatusError(status, cause === undefined ? {} : { cause });
}

function join({ socket, head, signal, clock }: TunnelOptions, answer: Extract<Answer, { upstream: Socket }>): void {
  const { switched, upstream, first } = answer;
  upstream.setNoDelay(true);
  // A side that ended its half may be gone altogether: probes of the connection tell.
  upstream.setKeepAlive(true, keepAliveMs);
  if (socket instanceof Socket) socket.setKeepAlive(true, keepAliveMs);
  const end = () => {
    upstream.destroy();
    socket.destroy();
  };
  signal.addEventListener('abort', end, { once: true });
  // There is no one to report a failure of one side to but the other side, which sees the end.
  socket.on('error', end);
  upstream.on('error', () => undefined);
  // Whoever writes to a side that has ended breaks it, and a client that is broken off loses the backend's last words.
  upstream.once('end', () => {
    socket.unpipe(upstream);
    socket.resume();
  });
  upstream.once('close', () => {
    signal.removeEventListener('abort', end);
    if (socket.destroyed) return;
    // What the backend said last must still reach the client. Its own words go nowhere now, but a socket that nobody
    // reads does not tell that its peer has gone.
    socket.end();
    socket.resume();
    const timer = clock.setTimer(end, lingerMs);
    socket.once('close', () => timer.cancel());
  });
  socket.once('close', () => upstream.destroy());
  socket.write(responseHead(switched), 'latin1');
  if (first.length > 0) socket.write(first);
  if (head.length > 0) upstream.write(head);
  upstream.pipe(socket);
  socket.pipe(upstream);
  for (const side of [socket, upstream]) askPeer(side, clock);
}

function responseHead({ rawHeaders, statusMessage = '' }: IncomingMessage): string {
  let text = `HTTP/1.1 101 ${statusMessage}\r\n`;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return `${text}\r\n`;
}

function requestHeaders(
  backend: Backend,
  request: ApiRequest,
  tokenProtocolPrefix: string,
): Record<string, string | string[]> {
  const received = request.headers;
  const { 'sec-websocket-protocol': offered = '', ...kept } = forwardedHeaders(received);
  const headers: Record<string, string | string[]> = {
    ...kept,
    host: authority(backend),
    connection: 'Upgrade',
    upgrade: received['upgrade'] ?? spdyUpgrade,
    'x-forwarded-for': forwardedFor(request),
  };
  // Servers of that age know of no lists in one line.
  const versions = listed(kept[protocolVersionHeader.toLowerCase()] ?? '');
  if (versions.length > 0) headers[protocolVersionHeader.toLowerCase()] = versions;
  const protocols = listed(offered).filter((protocol) => !protocol.startsWith(tokenProtocolPrefix));
  if (protocols.length > 0) headers['sec-websocket-protocol'] = protocols.join(', ');
  return headers;
}

function listed(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
