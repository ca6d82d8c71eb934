/** Requests over HTTP/1.1, by Node.js's server: one after the other on each connection, and upgrades. */

import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { andThen } from '#apimachinery/async/steps.js';
import { LazyAbort } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import { badRequest, requestEntityTooLarge } from '#apimachinery/errors/status.js';
import type { Logger } from '#daemon/log/logger.js';
import { type Connection, type Connections, drainAbandoned, lingerAfterAnswer } from '#http/server/connections.js';
import type { HttpResponse, StreamedBody, UpgradeHandler } from '#http/server/exchange.js';
import { Chunks, Http1Answer } from '#http/server/http1-answer.js';
import { BodyTooLargeError, readBody } from '#http/server/request-body.js';
import { clientGone, headSent, type RequestServer } from '#http/server/request-server.js';
import { type Peer, ServerRequest } from '#http/server/server-request.js';
import type { ResponseWriter } from '#http/server/write-response.js';

/** Characters of a host and port as Go's servers take them (golang.org/x/net/http/httpguts, ValidHostHeader). */
const valid = /^[!$%&'()*+,\-.0-9:;=@A-Z[\]_a-z~]*$/;

/** Why a request over HTTP/1 is refused for its Host header, in the words of 1.24's server; undefined: it is not. */
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

export interface Http1RequestsOptions {
  readonly clock: Clock;
  readonly server: RequestServer;
  readonly connections: Connections;
  readonly upgrade: UpgradeHandler;
  readonly writer: ResponseWriter;
  readonly log: Logger;
  readonly maxBodyBytes: number;
  /** Requests that a connection may have waiting for the one before. */
  readonly maxWaiting: number;
  /** For a client to take an answer that came before its body had ended. */
  readonly lingerMs: number;
  /** Whether the server takes no more requests: connections end with the answers under way. */
  readonly closing: () => boolean;
}

interface Exchange {
  readonly peer: Peer;
  readonly gone: LazyAbort;
  readonly answer: Http1Answer | undefined;
  readonly response: ServerResponse;
  /** The client waits to be told to send its body. */
  asks: boolean;
}

/** Bytes of a refused body that are read for the sake of the answer, in terms of the largest body. */
const lingerBodies = 10;

/** Statuses of what Node.js's parser refuses; 400 for everything else. */
const failureStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

export class Http1Requests {
  readonly #options: Http1RequestsOptions;
  readonly #chunks = new Chunks();

  constructor(options: Http1RequestsOptions) {
    this.#options = options;
  }

  /** What is no request of HTTP/1.1, or takes too long to become one. */
  refuse({ code = '' }: NodeJS.ErrnoException, socket: TLSSocket): void {
    const { clock, connections, lingerMs } = this.#options;
    const busy = (connections.get(socket)?.open ?? 0) > 0;
    // Whoever waits for the answer to an earlier request would take this one for it.
    if (busy || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = failureStatus[code] ?? 400;
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    // Closed with bytes that nobody has read, the connection would be reset and the answer lost.
    socket.removeAllListeners('data');
    socket.resume();
    socket.once('end', () => socket.destroy());
    const timer = clock.setTimer(() => socket.destroy(), lingerMs);
    socket.once('close', () => timer.cancel());
  }

  /** @param asks Whether the client waits to be told to send its body. */
  serve(raw: IncomingMessage, response: ServerResponse, asks: boolean): void {
    readOn(raw.socket);
    const connection = this.#options.connections.of(raw.socket as TLSSocket);
    if (!this.#admit(raw, response, { connection, asks })) return;
    const gone = new LazyAbort();
    let served = false;
    connection.open += 1;
    connection.served += 1;
    const answer = new Http1Answer(response, this.#chunks, () => {
      connection.open -= 1;
      if (!served) gone.abort(clientGone);
      connection.waiting.shift()?.();
    });
    answer.closes = this.#options.closing();
    const exchange: Exchange = { peer: connection.peer, gone, answer, response, asks };
    const answered = () => {
      // A client that still waits may send its body or not: what comes next on the connection cannot be told.
      if (exchange.asks) answer.closes = true;
    };
    const request = this.#request(raw, exchange);
    void andThen(this.#options.server.serve({ request, target: answer, gone, answered }), () => {
      served = true;
    });
  }

  /** Never rejects. */
  async upgrade(raw: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { upgrade, log, connections, writer } = this.#options;
    const gone = new LazyAbort();
    socket.once('close', () => gone.abort(clientGone));
    socket.on('error', (err) => log.debug({ err, url: raw.url }, 'upgraded connection failed'));
    const response = new ServerResponse(raw);
    try {
      const failure = hostFailure(raw);
      const { peer } = connections.of(raw.socket as TLSSocket);
      const request = this.#request(raw, { peer, gone, answer: undefined, response, asks: false });
      const answer = failure === undefined ? await upgrade(request, socket, head) : hostAnswer(failure);
      if (answer === undefined) return;
      const target = new Http1Answer(onSocket(response, socket), this.#chunks, () => undefined);
      await writer.write(target, answer, raw.method === 'HEAD', gone);
      gone.abort(headSent);
    } catch (err) {
      if (gone.reason === undefined) log.warn({ err, url: raw.url }, 'upgrade failed');
      socket.destroy();
    }
  }

  /** Whether a request is served now; else it waits, has been answered, or there is nobody to answer any more. */
  #admit(
    raw: IncomingMessage,
    response: ServerResponse,
    { connection, asks }: { readonly connection: Connection; readonly asks: boolean },
  ): boolean {
    const { open, waiting } = connection;
    if (raw.socket.destroyed) {
      // Node.js tells only the first of them.
      waiting.length = 0;
      return false;
    }
    if (open > 0) {
      // A client that does not wait for answers gets them one after the other, as from 1.24.
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

  #request(raw: IncomingMessage, exchange: Exchange): ServerRequest {
    const { peer, gone } = exchange;
    const bodied = hasBody(raw);
    return new ServerRequest({
      method: raw.method ?? 'GET',
      url: raw.url ?? '/',
      // Node.js gives names in lower case and joins what is repeated; only responses have headers that are lists.
      headers: raw.headers as Record<string, string | undefined>,
      rawHeaders: raw.rawHeaders,
      peer,
      gone,
      readBody: bodied ? () => this.#body(raw, exchange) : undefined,
      openBody: bodied ? () => this.#open(raw, exchange) : undefined,
    });
  }

  /** Tells a client that waits for it to send its body. */
  #goOn(exchange: Exchange): void {
    if (!exchange.asks) return;
    exchange.asks = false;
    exchange.response.writeContinue();
  }

  /** The body as it comes. What is left of it when its reader leaves is in the way of the next request on the connection. */
  #open(raw: IncomingMessage, exchange: Exchange): StreamedBody {
    this.#goOn(exchange);
    const { answer } = exchange;
    const { maxBodyBytes, clock, lingerMs } = this.#options;
    const length = raw.headers['content-length'];
    let left = false;
    const leave = () => {
      if (left || raw.destroyed) return;
      left = true;
      if (raw.complete) {
        // Node.js reads nothing more from the connection while this waits.
        raw.resume();
        return;
      }
      if (answer !== undefined) answer.closes = true;
      drainAbandoned(raw, { clock, bytes: lingerBodies * maxBodyBytes, ms: lingerMs });
    };
    return { source: raw, length: length === undefined ? undefined : Number(length), leave };
  }

  /** The body as the pipeline asks for it; what went wrong on the way is the client's doing. */
  async #body(raw: IncomingMessage, exchange: Exchange): Promise<Buffer> {
    const { maxBodyBytes, clock, lingerMs } = this.#options;
    if (!announcesMore(raw, maxBodyBytes)) this.#goOn(exchange);
    const { answer } = exchange;
    try {
      return await readBody(raw, maxBodyBytes);
    } catch (error) {
      if (!(error instanceof BodyTooLargeError)) throw badRequest(String(error), error);
      // What the client still sends is not wanted, but it is to read the answer.
      if (answer !== undefined) answer.closes = true;
      lingerAfterAnswer(raw, { clock, bytes: lingerBodies * maxBodyBytes, ms: lingerMs });
      throw requestEntityTooLarge(`limit is ${maxBodyBytes}`);
    }
  }
}

/**
 * Undoes that Node.js stops to read a connection whose last answer it has not got rid of to the last byte yet: its parser
 * takes what TLS has decrypted by then for an error (HPE_PAUSED), and the connection of a client that has sent a long body
 * at once is lost. How much is sent ahead is bounded by `maxWaiting`.
 */
function readOn(socket: Socket & { _paused?: boolean }): void {
  if (socket._paused !== true) return;
  socket._paused = false;
  socket.resume();
}

/** A response on a connection that the server has given out of its hands, and which ends with it. */
function onSocket(response: ServerResponse, socket: Duplex): ServerResponse {
  response.shouldKeepAlive = false;
  response.assignSocket(socket as TLSSocket);
  response.once('finish', () => socket.end());
  return response;
}

/** Whether anything of a body is to be expected. */
function hasBody({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return true;
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function announcesMore({ headers }: IncomingMessage, bytes: number): boolean {
  return Number(headers['content-length'] ?? 0) > bytes;
}
