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
import { type FastifyInstance, fastify } from 'fastify';
import { badRequest, requestEntityTooLarge } from '#apimachinery/errors/status.js';
import type { ApiHandler, ApiRequest, UpgradeHandler } from '#apiserver/http/exchange.js';
import { BodyTooLargeError, readBody } from '#apiserver/http/request-body.js';
import type { Responder } from '#apiserver/http/respond.js';
import { writeResponse } from '#apiserver/http/write-response.js';
import type { Logger } from '#daemon/log/logger.js';
import { schemaless } from '#daemon/serving/schemaless.js';

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
  readonly log: Logger;
  readonly maxBodyBytes: number;
  /** Streams that one HTTP/2 connection may have open; absent or 0: 1.24's 250. */
  readonly maxConcurrentStreams?: number | undefined;
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

export class HttpsServer {
  readonly #options: ServerOptions;
  readonly #fastify: FastifyInstance;
  #tls: TLSMaterial;
  #server: Http2SecureServer | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<Http2Session>();
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#tls = options.tls;
    this.#fastify = this.#build() as unknown as FastifyInstance;
  }

  /** Resolves with the address once connections are accepted. */
  async listen(): Promise<AddressInfo> {
    const { host, port } = this.#options;
    await this.#fastify.listen({ host, port });
    const address = this.#server?.address();
    if (address === null || address === undefined || typeof address === 'string') throw new Error('no TCP address');
    return address;
  }

  /** New connections use the new certificate, key and authorities; open ones stay as they are. */
  reloadTLS(tls: TLSMaterial): void {
    this.#tls = tls;
    this.#server?.setSecureContext(contextOf(tls));
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
    const closed = this.#fastify.close();
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
    const server = this.#server as unknown as { closeIdleConnections?: () => void } | undefined;
    server?.closeIdleConnections?.();
  }

  #build() {
    const { tls, maxConcurrentStreams = 0 } = this.#options;
    const streams = maxConcurrentStreams > 0 ? maxConcurrentStreams : defaultConcurrentStreams;
    const serve = (request: { raw: unknown }, reply: { raw: unknown; hijack(): unknown }) => {
      reply.hijack();
      return this.#serve(request.raw as AnyRequest, reply.raw as AnyResponse);
    };
    const app = fastify({
      http2: true,
      logger: false,
      forceCloseConnections: false,
      schemaController: schemaless,
      // Paths that cannot be decoded are refused by the handler, as all other requests are.
      frameworkErrors: (_error, request, reply) => void serve(request, reply),
      serverFactory: (listener) => {
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
          listener as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void,
        );
        this.#prepare(server);
        return server as never;
      },
    });
    app.addHook('onRequest', async (request, reply) => serve(request, reply));
    return app;
  }

  #prepare(server: Http2SecureServer): void {
    this.#server = server;
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
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setKeepAlive(true, tcpKeepAliveMs);
    socket.setNoDelay(true);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async #serve(raw: AnyRequest, response: AnyResponse): Promise<void> {
    const { handler, responder, maxBodyBytes, log } = this.#options;
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const answer = await handler({ ...toRequest(raw, gone.signal), readBody: () => bodyOf(raw, maxBodyBytes) });
      await writeResponse(response, answer, raw.method === 'HEAD');
    } catch (error) {
      if (gone.signal.aborted) {
        log.debug({ err: error, url: raw.url }, 'client went away');
        return;
      }
      if (response.headersSent) {
        log.warn({ err: error, url: raw.url }, 'answer broken off');
        response.destroy();
        return;
      }
      await writeResponse(response, responder.failure(undefined, error), raw.method === 'HEAD');
    }
  }

  async #upgrade(raw: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const gone = new AbortController();
    socket.once('close', () => gone.abort());
    socket.on('error', (err) => this.#options.log.debug({ err, url: raw.url }, 'upgraded connection failed'));
    try {
      await this.#options.upgrade(toRequest(raw, gone.signal), socket, head);
    } catch (err) {
      this.#options.log.error({ err, url: raw.url }, 'upgrade failed');
      socket.destroy();
    }
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

const noBody = Buffer.alloc(0);

/** The body as the pipeline asks for it; what went wrong on the way is the client's doing. */
async function bodyOf(raw: AnyRequest, maxBytes: number): Promise<Buffer> {
  try {
    return await readBody(raw, maxBytes);
  } catch (error) {
    throw error instanceof BodyTooLargeError
      ? requestEntityTooLarge(`limit is ${maxBytes}`)
      : badRequest(String(error), error);
  }
}

function toRequest(raw: AnyRequest, signal: AbortSignal): ApiRequest {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(raw.headers)) {
    // Names that start with a colon are HTTP/2's own.
    if (!name.startsWith(':')) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  const socket = raw.socket as TLSSocket;
  const certificate = clientCertificate(socket);
  return {
    method: raw.method ?? 'GET',
    url: raw.url ?? '/',
    headers,
    body: noBody,
    remoteAddress: socket.remoteAddress ?? '',
    ...(certificate === undefined ? {} : { clientCertificate: certificate }),
    signal,
  };
}

/** The certificate as the client showed it; whether it is to be trusted is for the authenticator to say. */
function clientCertificate(socket: TLSSocket): Buffer | undefined {
  const certificate = socket.getPeerX509Certificate?.();
  return certificate?.raw;
}
