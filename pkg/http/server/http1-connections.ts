/** HTTP/1.1 connections of Node.js's server: sequential requests, and upgrades. */
import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { andThen } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Bodies } from '#http/server/bodies.js';
import { BrokenBody } from '#http/server/broken-body.js';
import type { Connection, Connections } from '#http/server/connections.js';
import {
  clientGone,
  type ExchangeServer,
  type HttpResponse,
  headSent,
  type Peer,
  type UpgradeHandler,
} from '#http/server/exchange.js';
import { Chunks, Http1Exchange } from '#http/server/http1-exchange.js';
import type { ResponseWriter } from '#http/server/response-writer.js';
import type { ServerShares } from '#http/server/server-request.js';

/** Characters that Go's servers allow in a Host header (golang.org/x/net/http/httpguts, ValidHostHeader). */
const valid = /^[!$%&'()*+,\-.0-9:;=@A-Z[\]_a-z~]*$/;

/** Why the Host header is refused, in the words of 1.24's server; undefined if valid. */
function hostFailure(
  request: Pick<IncomingMessage, 'httpVersionMinor' | 'headers' | 'rawHeaders'>,
): string | undefined {
  const { host } = request.headers;
  if (host === undefined) return request.httpVersionMinor >= 1 ? 'missing required Host header' : undefined;
  if (!valid.test(host)) return 'malformed Host header';
  const { rawHeaders } = request;
  let lines = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') lines += 1;
  }
  return lines > 1 ? 'too many Host headers' : undefined;
}

function hostAnswer(failure: string): HttpResponse & { readonly body: Buffer } {
  const body = Buffer.from(`400 Bad Request: ${failure}`);
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(body.length),
    connection: 'close',
  };
  return { status: 400, headers, body };
}

export interface Http1ConnectionsOptions {
  readonly clock: Clock;
  readonly server: ExchangeServer;
  readonly connections: Connections;
  readonly upgrade: UpgradeHandler;
  readonly writer: ResponseWriter;
  readonly log: Logger;
  readonly shares: ServerShares;
  readonly bodies: Bodies;
  readonly maxBodyBytes: number;
  /** Limit of pipelined requests per connection. */
  readonly maxWaiting: number;
  /** Time for a client to read a response that was sent before its body had ended. */
  readonly lingerMs: number;
}

/** Status by error code of Node.js's parser; default 400. */
const failureStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

export class Http1Connections {
  readonly #options: Http1ConnectionsOptions;
  readonly #chunks = new Chunks();

  constructor(options: Http1ConnectionsOptions) {
    this.#options = options;
  }

  /** Listens to requests that do not wait for 100 Continue. */
  readonly listener = (raw: IncomingMessage, response: ServerResponse): void => this.serve(raw, response, false);

  /** Answers invalid requests and requests that take too long to arrive. */
  refuse({ code = '' }: NodeJS.ErrnoException, socket: TLSSocket): void {
    const { clock, connections, lingerMs } = this.#options;
    const busy = (connections.get(socket)?.open ?? 0) > 0;
    // A client that waits for an earlier response would take this one for it.
    if (busy || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = failureStatus[code] ?? 400;
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    // Closing with unread bytes would reset the connection and lose the response.
    socket.removeAllListeners('data');
    socket.resume();
    socket.once('end', () => socket.destroy());
    const timer = clock.setTimer(() => socket.destroy(), lingerMs);
    socket.once('close', () => timer.cancel());
  }

  /** @param asks Whether the client waits for 100 Continue. */
  serve(raw: IncomingMessage, response: ServerResponse, asks: boolean): void {
    readOn(raw.socket);
    const connection = this.#options.connections.of(raw.socket as TLSSocket);
    if (!this.#admit(raw, response, { connection, asks })) return;
    let served = false;
    connection.open += 1;
    connection.served += 1;
    const exchange = this.#exchange(raw, response, asks, connection.peer, () => {
      connection.open -= 1;
      if (!served) exchange.gone.abort(clientGone);
      connection.waiting.shift()?.();
    });
    exchange.closes = this.#options.connections.closing;
    void andThen(this.#options.server.serve(exchange), () => {
      served = true;
    });
  }

  /** Never rejects. */
  async upgrade(raw: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { upgrade, log, connections, writer } = this.#options;
    const response = new ServerResponse(raw);
    const { peer } = connections.of(raw.socket as TLSSocket);
    const exchange = this.#exchange(raw, response, false, peer, () => undefined);
    const { request, gone } = exchange;
    socket.once('close', () => {
      exchange.request.release();
      gone.abort(clientGone);
    });
    socket.on('error', (err) => log.debug({ err, url: raw.url }, 'upgraded connection failed'));
    try {
      const failure = hostFailure(raw);
      const answer = failure === undefined ? await upgrade(request, socket, head) : hostAnswer(failure);
      if (answer === undefined) return;
      if (answer.body instanceof BrokenBody) {
        socket.destroy();
        return;
      }
      useSocket(response, socket);
      await writer.write(exchange, answer, raw.method === 'HEAD', gone);
      gone.abort(headSent);
    } catch (err) {
      if (gone.reason === undefined) log.warn({ err, url: raw.url }, 'upgrade failed');
      socket.destroy();
    }
  }

  #exchange(
    raw: IncomingMessage,
    response: ServerResponse,
    asks: boolean,
    peer: Peer,
    closed: () => void,
  ): Http1Exchange {
    const { clock, shares, bodies, maxBodyBytes, lingerMs } = this.#options;
    return new Http1Exchange(raw, response, asks, {
      clock,
      peer,
      chunks: this.#chunks,
      shares,
      bodies,
      maxBodyBytes,
      lingerMs,
      closed,
    });
  }

  /** Returns true if the request can be served now. Otherwise it was queued or answered, or its client is gone. */
  #admit(
    raw: IncomingMessage,
    response: ServerResponse,
    { connection, asks }: { readonly connection: Connection; readonly asks: boolean },
  ): boolean {
    const { open, waiting } = connection;
    if (raw.socket.destroyed) {
      // Node.js reports only the first closed request.
      waiting.length = 0;
      return false;
    }
    if (open > 0) {
      // Pipelined requests are answered in order, as in 1.24.
      if (waiting.length < this.#options.maxWaiting) waiting.push(() => this.serve(raw, response, asks));
      else raw.socket.destroy();
      return false;
    }
    const failure = hostFailure(raw);
    if (failure === undefined) return true;
    const { status, headers, body } = hostAnswer(failure);
    response.writeHead(status, `Bad Request: ${failure}`, headers).end(body);
    return false;
  }
}

/**
 * Resumes a connection that Node.js paused because its last response is not completely written: its parser would take
 * data that TLS has already decrypted for an error (HPE_PAUSED), and a client that sends a long body immediately would
 * lose its connection. `maxWaiting` bounds pipelining.
 */
function readOn(socket: Socket & { _paused?: boolean }): void {
  if (socket._paused !== true) return;
  socket._paused = false;
  socket.resume();
}

/** Lets the response use a detached socket, which closes after it. */
function useSocket(response: ServerResponse, socket: Duplex): void {
  response.shouldKeepAlive = false;
  response.assignSocket(socket as TLSSocket);
  response.once('finish', () => socket.end());
}
