/**
 * HTTPS in front of an `ApiHandler`: HTTP/1.1 and HTTP/2 on one port, client certificates asked for but not required,
 * responses streamed with back-pressure, upgrades passed on. Knows nothing of what it serves.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContext, TLSSocket } from 'node:tls';
import { badRequest, requestEntityTooLarge } from '#apimachinery/errors/status.js';
import type { ApiHandler, UpgradeHandler } from '#apiserver/http/exchange.js';
import { LazyAbort } from '#apiserver/http/lazy-abort.js';
import { BodyTooLargeError, readBody } from '#apiserver/http/request-body.js';
import type { Responder } from '#apiserver/http/respond.js';
import { type Peer, ServerRequest } from '#apiserver/http/server-request.js';
import { ConnectionLostError, type ResponseWriter } from '#apiserver/http/write-response.js';
import type { Logger } from '#daemon/log/logger.js';

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
  readonly responder: Responder;
  readonly writer: ResponseWriter;
  readonly log: Logger;
  readonly maxBodyBytes: number;
  /** Streams that one HTTP/2 connection may have open; absent or 0: 1.24's 250. */
  readonly maxConcurrentStreams?: number | undefined;
  /** Value of the Strict-Transport-Security header; absent or empty: none. */
  readonly strictTransportSecurity?: string;
  /** True for a request whose HTTP/2 connection is to be made anew, maybe to another server; absent: never. */
  readonly goAway?: () => boolean;
}

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

/** Idle connections are kept longer than the usual proxy does, so that it is the client who closes them. */
const keepAliveTimeoutMs = 75_000;
/** Time for the headers of one request: 1.24's ReadHeaderTimeout. */
const headersTimeoutMs = 32_000;
/** Time for a whole request to arrive; how long its answer takes is not limited here. */
const requestTimeoutMs = 65_000;
/** Silence after which the system asks whether the client is still there. */
const tcpKeepAliveMs = 30_000;
/** Bytes of all headers: tokens can be long. */
const maxHeaderBytes = 64 * 1024;
const defaultConcurrentStreams = 250;

/** Why the work for a request is stopped whose client is gone; one for all, since making errors is not cheap. */
const clientGone = new Error('the client went away');

const colon = ':'.charCodeAt(0);

export class HttpsServer {
  readonly #options: ServerOptions;
  #tls: TLSMaterial;
  readonly #server: Http2SecureServer;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<Http2Session>();
  /** Who is at the other end of each socket or session, as long as the connection lasts. */
  readonly #peers = new WeakMap<object, Peer>();
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#tls = options.tls;
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
    for (const session of this.#sessions) session.close();
    this.#closeIdle();
    const cut = sleep(graceMs, done.signal).then(() => {
      for (const session of this.#sessions) session.destroy();
      for (const socket of this.#sockets) socket.destroy();
    });
    await closed;
    done.abort();
    await cut;
  }

  #closeIdle(): void {
    const server = this.#server as unknown as { closeIdleConnections?: () => void };
    server.closeIdleConnections?.();
  }

  #build(): Http2SecureServer {
    const { tls, maxConcurrentStreams = 0 } = this.#options;
    const streams = maxConcurrentStreams > 0 ? maxConcurrentStreams : defaultConcurrentStreams;
    const server = createSecureServer(
      {
        ...contextOf(tls),
        allowHTTP1: true,
        requestCert: tls.clientCA !== undefined,
        // Who may come in is decided by the authenticators, which also know other kinds of credentials.
        rejectUnauthorized: false,
        settings: { maxConcurrentStreams: streams, maxHeaderListSize: maxHeaderBytes },
        // It outlives a change of certificates, unlike everything else that is said of them.
        SNICallback: (serverName, done) => done(null, this.#tls.contextFor?.(serverName)),
      },
      (request, response) => {
        void this.#serve(request, response);
      },
    );
    // These hold for the HTTP/1.1 side; the type of an HTTP/2 server does not mention them.
    Object.assign(server, {
      keepAliveTimeout: keepAliveTimeoutMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
    });
    server.setTimeout(0);
    server.on('secureConnection', (socket: TLSSocket) => this.#track(socket));
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.#upgrade(request, socket, head);
    });
    // A client that speaks no TLS or breaks off is its own problem.
    server.on('tlsClientError', (err, socket) => {
      this.#options.log.debug({ err, remote: socket.remoteAddress }, 'TLS handshake failed');
    });
    return server;
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setKeepAlive(true, tcpKeepAliveMs);
    socket.setNoDelay(true);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Never rejects. */
  async #serve(raw: AnyRequest, response: AnyResponse): Promise<void> {
    const { handler, writer, log, strictTransportSecurity = '', goAway } = this.#options;
    const gone = new LazyAbort();
    let done = false;
    response.once('close', () => {
      if (!done) gone.abort(clientGone);
    });
    if (this.#closing !== undefined && raw.httpVersionMajor === 1) response.setHeader('connection', 'close');
    if (strictTransportSecurity !== '') response.setHeader('strict-transport-security', strictTransportSecurity);
    // What is under way on it, this request too, goes on to its end.
    if ('stream' in raw && goAway?.() === true) raw.stream.session?.close();
    try {
      const answer = await handler(this.#request(raw, response, gone));
      await writer.write(response, answer, raw.method === 'HEAD', gone);
    } catch (error) {
      if (gone.reason === clientGone) log.debug({ err: error, url: raw.url }, 'client went away');
      else await this.#failed(raw, response, error, gone);
    } finally {
      done = true;
    }
  }

  /** What no handler has answered: an answer that cannot be written. Never rejects. */
  async #failed(raw: AnyRequest, response: AnyResponse, error: unknown, gone: LazyAbort): Promise<void> {
    const { responder, writer, log } = this.#options;
    if (response.headersSent) {
      const level = error instanceof ConnectionLostError ? 'info' : 'warn';
      log[level]({ err: error, url: raw.url }, 'answer broken off');
      response.destroy();
      return;
    }
    try {
      const answer = responder.failure(undefined, error);
      await writer.write(response, answer, raw.method === 'HEAD', gone);
    } catch (err) {
      log.warn({ err, url: raw.url }, 'cannot answer');
      response.destroy();
    }
  }

  /** The body as the pipeline asks for it; what went wrong on the way is the client's doing. */
  async #body(raw: AnyRequest, response: AnyResponse | undefined): Promise<Buffer> {
    const { maxBodyBytes } = this.#options;
    try {
      return await readBody(raw, maxBodyBytes);
    } catch (error) {
      if (!(error instanceof BodyTooLargeError)) throw badRequest(String(error), error);
      // What the client still sends is not read.
      if (raw.httpVersionMajor === 1) response?.setHeader('connection', 'close');
      throw requestEntityTooLarge(`limit is ${maxBodyBytes}`);
    }
  }

  async #upgrade(raw: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const gone = new LazyAbort();
    socket.once('close', () => gone.abort(clientGone));
    socket.on('error', (err) => this.#options.log.debug({ err, url: raw.url }, 'upgraded connection failed'));
    try {
      await this.#options.upgrade(this.#request(raw, undefined, gone), socket, head);
    } catch (err) {
      this.#options.log.error({ err, url: raw.url }, 'upgrade failed');
      socket.destroy();
    }
  }

  #request(raw: AnyRequest, response: AnyResponse | undefined, gone: LazyAbort): ServerRequest {
    return new ServerRequest({
      method: raw.method ?? 'GET',
      url: raw.url ?? '/',
      headers: headersOf(raw),
      peer: this.#peer(raw),
      gone,
      readBody: hasBody(raw) ? () => this.#body(raw, response) : undefined,
    });
  }

  #peer(raw: AnyRequest): Peer {
    // A request over HTTP/2 makes up a socket of its own when it is asked for one; its session has the same one always.
    const connection = 'stream' in raw ? (raw.stream.session ?? raw.stream) : raw.socket;
    let peer = this.#peers.get(connection);
    if (peer === undefined) {
      const socket = ('stream' in raw ? (raw.stream.session?.socket ?? raw.socket) : raw.socket) as TLSSocket;
      const asked = this.#options.tls.clientCA !== undefined;
      // As the client showed it; whether it is to be trusted is for the authenticator to say.
      const certificate = asked ? socket.getPeerX509Certificate?.()?.raw : undefined;
      peer = { address: socket.remoteAddress ?? '', certificate };
      this.#peers.set(connection, peer);
    }
    return peer;
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
