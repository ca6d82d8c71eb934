/** Requests of an HTTP/2 connection. */

import type { TLSSocket } from 'node:tls';
import type { Clock } from '#apimachinery/clock.js';
import type { WriteBuffers } from '#http/http2/frame-writer.js';
import type { ResponseHeads } from '#http/http2/response-heads.js';
import { type RequestHead, ServerSession, type ServerSessionHandler } from '#http/http2/server-session.js';
import type { ServerStream } from '#http/http2/server-stream.js';
import type { Bodies } from '#http/server/bodies.js';
import type { Connection, Connections } from '#http/server/connections.js';
import { type ExchangeServer, plainTextHeaders } from '#http/server/exchange.js';
import { Http2Exchange, type Http2ExchangeOptions } from '#http/server/http2-exchange.js';
import type { ServerShares } from '#http/server/server-request.js';

export interface Http2ConnectionOptions {
  readonly clock: Clock;
  readonly server: ExchangeServer;
  readonly connections: Connections;
  /** Shared by all connections. */
  readonly heads: ResponseHeads;
  readonly buffers: WriteBuffers;
  readonly maxStreams: number;
  readonly maxHeaderBytes: number;
  readonly shares: ServerShares;
  readonly bodies: Bodies;
  readonly maxBodyBytes: number;
  /** True for a request whose client should reconnect, perhaps to another server; absent: never. */
  readonly goAway?: (() => boolean) | undefined;
}

/** Limits of unread body bytes; 1.24's values. */
const streamWindowBytes = 256 * 1024;
const sessionWindowBytes = 1024 * 1024;

export class Http2Connection implements ServerSessionHandler {
  readonly #options: Http2ConnectionOptions;
  readonly #connection: Connection;
  readonly #exchange: Http2ExchangeOptions;
  readonly #session: ServerSession;

  /** `socket`: connected, with HTTP/2 negotiated. */
  constructor(socket: TLSSocket, options: Http2ConnectionOptions) {
    this.#options = options;
    const { clock, connections, maxStreams, maxHeaderBytes, buffers, heads, shares, bodies, maxBodyBytes } = options;
    // RFC 9113, 9.2.1.
    socket.disableRenegotiation();
    this.#connection = connections.of(socket);
    this.#exchange = { connection: this.#connection, heads, shares, bodies, maxBodyBytes };
    this.#session = new ServerSession({
      socket,
      handler: this,
      clock,
      maxStreams,
      maxHeaderBytes,
      streamWindowBytes,
      sessionWindowBytes,
      buffers,
    });
    connections.addSession(this.#session, this.#connection);
  }

  request(stream: ServerStream, head: RequestHead): void {
    const { server, goAway } = this.#options;
    const exchange = new Http2Exchange(stream, head, this.#exchange);
    stream.handler = exchange;
    const status = refusal(head);
    if (status !== undefined) {
      refuse(exchange, status, head.invalid ?? '');
      return;
    }
    // Running requests, this one included, complete.
    if (goAway?.() === true) this.#session.goAway();
    void server.serve(exchange);
  }

  closed(): void {
    this.#options.connections.removeSession(this.#session);
  }
}

/** Answers like Go's server. */
function refuse(exchange: Http2Exchange, status: number, reason: string): void {
  const body = Buffer.from(status === 400 ? `${reason}\n` : '');
  const headers = status === 400 ? plainTextHeaders : {};
  exchange.head(status, { ...headers, 'content-length': String(body.length) });
  if (body.length > 0) exchange.write(body);
  exchange.end();
}

/** Error status of an unsupported request; undefined if acceptable. */
function refusal({ target, fields, tooLarge, invalid }: RequestHead): number | undefined {
  if (tooLarge) return 431;
  if (invalid !== undefined) return 400;
  if (target.method === 'CONNECT') return 405;
  const expect = fields.find(([name]) => name === 'expect')?.[1];
  return expect === undefined || expect.toLowerCase() === '100-continue' ? undefined : 417;
}
