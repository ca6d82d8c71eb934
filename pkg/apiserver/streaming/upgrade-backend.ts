/**
 * Forwards upgrade requests (SPDY, WebSocket or others) to the backend. When the backend switches protocols, the connections are
 * joined to a tunnel; any other response is an ordinary one.
 */
import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, StatusError } from '#apimachinery/errors/status.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { authority } from '#apiserver/service-routing/address.js';
import {
  agentOf,
  type Backend,
  dialTarget,
  forwardedFor,
  forwardedHeaders,
  tlsOptions,
} from '#apiserver/streaming/backend.js';
import { answerOf } from '#apiserver/streaming/http-proxy.js';
import { protocolVersionHeader, spdyUpgrade } from '#daemon/streaming/protocols.js';
import { askUpgrade, openTunnel, type UpgradeAnswer } from '#daemon/streaming/tunnel.js';

/** The parts of a client's request that a backend gets. */
type UpgradeRequest = Pick<ApiRequest, 'method' | 'headers' | 'remoteAddress'>;

export interface TunnelOptions {
  readonly backend: Backend;
  readonly request: UpgradeRequest;
  /** Path and query at the backend. */
  readonly path: string;
  /** Prefix of the subprotocol that carries a browser's token, which is not forwarded. */
  readonly tokenProtocolPrefix: string;
  /** Sent in addition to the client's headers. */
  readonly extraHeaders?: Readonly<Record<string, string | string[]>>;
  /** The client's connection; owned by the tunnel once the backend has switched protocols. */
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Ends the tunnel. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Limit of each direction of the tunnel; absent or 0: none. */
  readonly bytesPerSecond?: number | undefined;
}

/** Time for the backend to respond. */
const responseMs = 60_000;
/** Limits of a response that is not an upgrade; the time is 1.24's. */
const refusalMs = 10_000;
const maxRefusalBytes = 1024 * 1024;

/**
 * Resolves with undefined when the tunnel is open, and with the backend's response when that is an error (400 and above). Throws
 * 500 when the backend cannot be reached or responds otherwise; the client's connection is untouched then.
 */
export async function upgradeBackend(options: TunnelOptions): Promise<ApiResponse | undefined> {
  const { clock, head, request, socket, signal, bytesPerSecond } = options;
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (encoding !== undefined || Number(length) !== 0) throw badRequest('a request for an upgrade has no body');
  const answer = await ask(options);
  if ('switched' in answer) {
    openTunnel({ ...answer, client: socket, clientHead: head, signal, clock, bytesPerSecond });
    return undefined;
  }
  const { refusal: response } = answer;
  const { statusCode = 502 } = response;
  if (statusCode < 400) {
    response.destroy();
    throw failed(`invalid upgrade response: status code ${statusCode}`);
  }
  response.socket.setTimeout(refusalMs, () => response.destroy());
  const refusal = answerOf(response, maxRefusalBytes);
  // The body may be cut to the limit, so its end is the end of the connection.
  const { 'content-length': _, ...headers } = refusal.headers;
  return { ...refusal, headers };
}

async function ask(options: TunnelOptions): Promise<UpgradeAnswer> {
  const { backend, request, path, tokenProtocolPrefix, extraHeaders, signal } = options;
  const { tls } = backend;
  const passed: RequestOptions = {
    ...dialTarget(backend),
    method: request.method,
    path,
    headers: { ...requestHeaders(backend, request, tokenProtocolPrefix), ...extraHeaders },
    signal,
    agent: agentOf(backend),
    // This limit includes connecting.
    timeout: responseMs,
  };
  const outgoing = tls === undefined ? httpRequest(passed) : httpsRequest({ ...passed, ...tlsOptions(tls) });
  let phase = 'dialing backend';
  outgoing.once('socket', (socket) => {
    if (backend.dial !== undefined && tls === undefined) phase = 'upgrading connection';
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      phase = 'upgrading connection';
    });
  });
  try {
    return await askUpgrade(outgoing, responseMs);
  } catch (error) {
    throw failed(`error ${phase}: ${messageOf(error)}`, error);
  }
}

/** The Status that 1.24 gives to an unclassified error. */
function failed(message: string, cause?: unknown): StatusError {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 } as const;
  return new StatusError(status, cause === undefined ? {} : { cause });
}

function requestHeaders(
  backend: Backend,
  request: UpgradeRequest,
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
  // Send one header line per version: old servers do not parse lists.
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
