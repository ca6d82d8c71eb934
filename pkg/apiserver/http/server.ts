/**
 * HTTPS in front of an `ApiHandler`: HTTP/1.1 and HTTP/2 on one port, client certificates asked for but not required,
 * responses streamed with back-pressure, upgrades passed on. Knows nothing of what it serves.
 */
import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Clock } from '#apimachinery/clock.js';
import { badRequest, requestEntityTooLarge } from '#apimachinery/errors/status.js';
import { type Connection, Connections } from '#apiserver/http/connections.js';
import type { ApiHandler, ApiRequest, ApiResponse, UpgradeHandler } from '#apiserver/http/exchange.js';
import { hostAnswer, hostFailure } from '#apiserver/http/host-header.js';
import { LazyAbort } from '#apiserver/http/lazy-abort.js';
import { lingerAfterAnswer } from '#apiserver/http/linger.js';
import { BodyTooLargeError, readBody } from '#apiserver/http/request-body.js';
import { type Peer, ServerRequest } from '#apiserver/http/server-request.js';
import { ConnectionLostError, type ResponseWriter } from '#apiserver/http/write-response.js';
import type { Logger } from '#daemon/log/logger.js';
import {
  type ConnectionLimits,
  http1Limits,
  maxHeaderBytes,
  standardLimits,
} from '#daemon/serving/connection-limits.js';

/** PEM texts. Given again to `reloadTLS` when the files change. */
export interface TLSMaterial {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Authorities of client certificates; absent: none are asked for. */
  readonly clientCA?: string | Buffer;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL names, colon separated. */
  readonly ciphers?: string;
  /** Another certificate for a server name; undefined, or absent: `cert`. */
  readonly contextFor?: (serverName: string) => SecureContext | undefined;
}

export interface ServerOptions {
  /** Address to listen on; `127.0.0.1`. */
  readonly host: string;
  /** 0: the system picks one. */
  readonly port: number;
  readonly tls: TLSMaterial;
  readonly handler: ApiHandler;
  readonly upgrade: UpgradeHandler;
  /** The answer to a request that comes to nothing before the handler has it. Never throws. */
  readonly failure: (error: unknown) => ApiResponse;
  readonly writer: ResponseWriter;
  readonly log: Logger;
  readonly clock: Clock;
  readonly maxBodyBytes: number;
  /** Absent: 1.24's. */
  readonly limits?: Partial<ServerLimits>;
  /** Streams that one HTTP/2 connection may have open; absent or 0: 1.24's 250. */
  readonly maxConcurrentStreams?: number | undefined;
  /** Value of the Strict-Transport-Security header; absent or empty: none. */
  readonly strictTransportSecurity?: string;
  /** True for a request whose HTTP/2 connection is to be made anew, maybe to another server; absent: never. */
  readonly goAway?: () => boolean;
  readonly observer?: ServerObserver;
}

/** Is told of what goes wrong below the handler. */
export interface ServerObserver {
  /** A client did not get as far as TLS. */
  handshakeFailed(): void;
  /** An answer broke off after its head had been sent, although its client was there. */
  aborted(request: Pick<ApiRequest, 'method' | 'url' | 'headers'>): void;
}

export interface ServerLimits extends ConnectionLimits {
  /** For a client to take an answer that came before its body had ended. */
  readonly lingerMs: number;
}

const lingerMs = 5_000;

/** Bytes of a refused body that are read for the sake of the answer, in terms of the largest body. */
const lingerBodies = 10;

interface Exchange {
  readonly peer: Peer;
  readonly gone: LazyAbort;
  readonly response: AnyResponse;
  /** The client waits to be told to send its body. */
  asks: boolean;
}

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

const defaultConcurrentStreams = 250;

/** Why the work for an answer is stopped of which only the head is wanted. */
const headSent = new Error('the answer has no body');
/** Why the work for a request is stopped whose client is gone; one for all, since making errors is not cheap. */
const clientGone = new Error('the client went away');

/** Statuses of what Node.js's parser refuses; 400 for everything else. */
const failureStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const colon = ':'.charCodeAt(0);

export class HttpsServer {
  readonly #options: ServerOptions;
  #tls: TLSMaterial;
  readonly #server: Http2SecureServer;
  readonly #limits: ServerLimits;
  readonly #connections: Connections;
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#tls = options.tls;
    this.#limits = { ...standardLimits, lingerMs, ...options.limits };
    this.#connections = new Connections({
      clock: options.clock,
      idleMs: this.#limits.idleMs,
      asksForCertificates: () => this.#tls.clientCA !== undefined,
    });
    this.#server = this.#build();
  }

  /** Resolves with the address once connections are accepted. */
  async listen(): Promise<AddressInfo> {
    const { host, port } = this.#options;
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    // Connections that cannot be accepted, for want of file descriptors for example: those there are go on.
    server.on('error', (err) => this.#options.log.warn({ err }, 'cannot accept a connection'));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no TCP address');
    return address;
  }

  /** New connections use the new certificate, key and authorities; open ones stay as they are. */
  reloadTLS(tls: TLSMaterial): void {
    this.#tls = tls;
    this.#server.setSecureContext(contextOf(tls));
  }

  /**
   * Stops accepting, lets requests under way end for at most `graceMs`, then cuts what is left. The handler's own
   * long-running answers must have been ended by then.
   */
  close(graceMs: number, sleep: (ms: number, signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#closing ??= this.#close(graceMs, sleep);
    return this.#closing;
  }

  async #close(graceMs: number, sleep: (ms: number, signal: AbortSignal) => Promise<void>): Promise<void> {
    const done = new AbortController();
    const closed = new Promise<void>((resolve) => {
      // Fails only for a server that did not listen: there is nothing to wait for then.
      this.#server.close(() => resolve());
    });
    this.#connections.drain();
    this.#closeIdle();
    const cut = sleep(graceMs, done.signal).then(() => this.#connections.destroy());
    await closed;
    done.abort();
    await cut;
  }

  get #maxStreams(): number {
    const { maxConcurrentStreams = 0 } = this.#options;
    return maxConcurrentStreams > 0 ? maxConcurrentStreams : defaultConcurrentStreams;
  }

  #closeIdle(): void {
    const server = this.#server as unknown as { closeIdleConnections?: () => void };
    server.closeIdleConnections?.();
  }

  #build(): Http2SecureServer {
    const { tls } = this.#options;
    const server = createSecureServer(
      {
        ...contextOf(tls),
        allowHTTP1: true,
        requestCert: tls.clientCA !== undefined,
        // Who may come in is decided by the authenticators, which also know other kinds of credentials.
        rejectUnauthorized: false,
        handshakeTimeout: this.#limits.handshakeMs,
        settings: { maxConcurrentStreams: this.#maxStreams, maxHeaderListSize: maxHeaderBytes },
        // It outlives a change of certificates, unlike everything else that is said of them.
        SNICallback: (serverName, done) => done(null, this.#tls.contextFor?.(serverName)),
      },
      (request, response) => {
        void this.#serve(request, response, false);
      },
    );
    // Whoever asks first whether to send a body is told to when the body is wanted.
    server.on('checkContinue', (request: AnyRequest, response: AnyResponse) => {
      void this.#serve(request, response, true);
    });
    // These hold for the HTTP/1.1 side; the type of an HTTP/2 server does not mention them.
    Object.assign(server, { ...http1Limits(this.#limits), maxHeaderSize: maxHeaderBytes });
    server.setTimeout(0);
    server.on('secureConnection', (socket: TLSSocket) => this.#connections.add(socket));
    server.on('session', (session) => this.#connections.addSession(session));
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.#upgrade(request, socket, head);
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => this.#clientError(error, socket));
    // A client that speaks no TLS or breaks off is its own problem.
    server.on('tlsClientError', (err, socket) => {
      this.#options.observer?.handshakeFailed();
      this.#options.log.debug({ err, remote: socket.remoteAddress }, 'TLS handshake failed');
    });
    return server;
  }

  /** What is no request of HTTP/1.1, or takes too long to become one. */
  #clientError({ code = '' }: NodeJS.ErrnoException, socket: TLSSocket): void {
    const { clock } = this.#options;
    const busy = (this.#connections.get(socket)?.open ?? 0) > 0;
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
    const timer = clock.setTimer(() => socket.destroy(), this.#limits.lingerMs);
    socket.once('close', () => timer.cancel());
  }

  /** Never rejects. @param asks Whether the client waits to be told to send its body. */
  async #serve(raw: AnyRequest, response: AnyResponse, asks: boolean): Promise<void> {
    const { handler, writer, log, strictTransportSecurity = '', goAway } = this.#options;
    const connection = this.#connections.of(raw);
    if (!('stream' in raw) && !this.#admit(raw, response as ServerResponse, { connection, asks })) return;
    const gone = new LazyAbort();
    let done = false;
    connection.open += 1;
    connection.served += 1;
    response.once('close', () => {
      connection.open -= 1;
      if (!done) gone.abort(clientGone);
      connection.waiting.shift()?.();
    });
    if (this.#closing !== undefined && raw.httpVersionMajor === 1) response.setHeader('connection', 'close');
    if (strictTransportSecurity !== '') response.setHeader('strict-transport-security', strictTransportSecurity);
    // What is under way on it, this request too, goes on to its end.
    if ('stream' in raw && goAway?.() === true) raw.stream.session?.close();
    try {
      const exchange = { peer: connection.peer, gone, response, asks };
      const answer = await handler(this.#request(raw, exchange));
      // A client that still waits may send its body or not: what comes next on the connection cannot be told.
      if (exchange.asks && raw.httpVersionMajor === 1) response.setHeader('connection', 'close');
      const headOnly = raw.method === 'HEAD';
      const writing = writer.write(response, answer, headOnly, gone);
      if (writing instanceof Promise) await writing;
      // A watch, or an answer that is passed on, which nobody reads.
      if (headOnly) gone.abort(headSent);
    } catch (error) {
      if (gone.reason === clientGone) log.debug({ err: error, url: raw.url }, 'client went away');
      else await this.#failed(raw, response, error, gone);
    } finally {
      done = true;
    }
  }

  /** What no handler has answered: an answer that cannot be written. Never rejects. */
  async #failed(raw: AnyRequest, response: AnyResponse, error: unknown, gone: LazyAbort): Promise<void> {
    const { failure, writer, log } = this.#options;
    if (response.headersSent) {
      const level = error instanceof ConnectionLostError ? 'info' : 'warn';
      log[level]({ err: error, url: raw.url }, 'answer broken off');
      this.#options.observer?.aborted({ method: raw.method ?? 'GET', url: raw.url ?? '/', headers: headersOf(raw) });
      response.destroy();
      return;
    }
    try {
      const answer = failure(error);
      await writer.write(response, answer, raw.method === 'HEAD', gone);
    } catch (err) {
      log.warn({ err, url: raw.url }, 'cannot answer');
      response.destroy();
    }
  }

  /** Whether a request over HTTP/1.1 is served now; else it waits, has been answered, or there is nobody to answer any more. */
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
      if (waiting.length < this.#maxStreams) waiting.push(() => void this.#serve(raw, response, asks));
      else raw.socket.destroy();
      return false;
    }
    const failure = hostFailure(raw);
    if (failure === undefined) return true;
    const { status, headers, body } = hostAnswer(failure);
    response.writeHead(status, `Bad Request: ${failure}`, headers).end(body);
    return false;
  }

  /** The body as the pipeline asks for it; what went wrong on the way is the client's doing. */
  async #body(raw: AnyRequest, response: AnyResponse): Promise<Buffer> {
    const { maxBodyBytes } = this.#options;
    try {
      return await readBody(raw, maxBodyBytes);
    } catch (error) {
      if (!(error instanceof BodyTooLargeError)) throw badRequest(String(error), error);
      this.#endBody(raw, response);
      throw requestEntityTooLarge(`limit is ${maxBodyBytes}`);
    }
  }

  /** What the client still sends is not wanted, but it is to read the answer. */
  #endBody(raw: AnyRequest, response: AnyResponse): void {
    const { clock, maxBodyBytes } = this.#options;
    if ('stream' in raw) {
      raw.stream.once('finish', () => raw.stream.close(constants.NGHTTP2_NO_ERROR));
      return;
    }
    response.setHeader('connection', 'close');
    lingerAfterAnswer(raw, { clock, bytes: lingerBodies * maxBodyBytes, ms: this.#limits.lingerMs });
  }

  async #upgrade(raw: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { upgrade, log } = this.#options;
    const gone = new LazyAbort();
    socket.once('close', () => gone.abort(clientGone));
    socket.on('error', (err) => log.debug({ err, url: raw.url }, 'upgraded connection failed'));
    const response = new ServerResponse(raw);
    try {
      const failure = hostFailure(raw);
      const request = this.#request(raw, { peer: this.#connections.of(raw).peer, gone, response, asks: false });
      const answer = failure === undefined ? await upgrade(request, socket, head) : hostAnswer(failure);
      if (answer === undefined) return;
      await this.#options.writer.write(this.#onSocket(response, socket), answer, raw.method === 'HEAD', gone);
      gone.abort(headSent);
    } catch (err) {
      if (gone.reason === undefined) log.warn({ err, url: raw.url }, 'upgrade failed');
      socket.destroy();
    }
  }

  /** A response on a connection that the server has given out of its hands, and which ends with it. */
  #onSocket(response: ServerResponse, socket: Duplex): ServerResponse {
    response.shouldKeepAlive = false;
    response.assignSocket(socket as TLSSocket);
    socket.on('drain', () => response.emit('drain'));
    response.once('finish', () => socket.end());
    return response;
  }

  #request(raw: AnyRequest, exchange: Exchange): ServerRequest {
    const { peer, gone, response } = exchange;
    const body = () => {
      if (exchange.asks && !announcesMore(raw, this.#options.maxBodyBytes)) {
        exchange.asks = false;
        response.writeContinue();
      }
      return this.#body(raw, response);
    };
    return new ServerRequest({
      method: raw.method ?? 'GET',
      url: raw.url ?? '/',
      headers: headersOf(raw),
      rawHeaders: raw.rawHeaders,
      peer,
      gone,
      readBody: hasBody(raw) ? body : undefined,
    });
  }
}

function contextOf(tls: TLSMaterial) {
  return {
    cert: tls.cert,
    key: tls.key,
    minVersion: tls.minVersion ?? ('TLSv1.2' as const),
    ALPNProtocols: ['h2', 'http/1.1'],
    ...(tls.clientCA === undefined ? {} : { ca: tls.clientCA }),
    ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
  };
}

/** Node.js gives names in lower case and joins what is repeated; only responses have headers that are lists. */
function headersOf(raw: AnyRequest): Record<string, string | undefined> {
  const received = raw.headers as Record<string, string | undefined>;
  if (raw.httpVersionMajor === 1) return received;
  const headers: Record<string, string | undefined> = {};
  // Names that start with a colon are HTTP/2's own.
  for (const name in received) if (name.charCodeAt(0) !== colon) headers[name] = received[name];
  return headers;
}

/** Whether anything of a body is to be expected. */
function hasBody({ method, headers }: AnyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return true;
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function announcesMore({ headers }: AnyRequest, bytes: number): boolean {
  return Number(headers['content-length'] ?? 0) > bytes;
}
