/** The two ports of the controller: HTTP/1.1 on both, and HTTP/2 where there is TLS. Knows nothing of rules. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ClientConnections } from '#ingress/http/client-connections.js';
import type { Arrival } from '#ingress/http/forwarder.js';
import type { IngressLimits } from '#ingress/http/limits.js';
import { answer, type Request, type Response } from '#ingress/http/message.js';

export interface IngressServerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: IngressLimits;
  readonly connections: ClientConnections;
  /** Of all interfaces where it is empty. */
  readonly address: string;
  /** 0: any free one; undefined: none. */
  readonly httpPort: number | undefined;
  readonly httpsPort: number | undefined;
  /** PEM: what serves hosts without a certificate of their own. */
  readonly fallback: { readonly certificate: string; readonly privateKey: string };
  /** The certificate of a host; undefined: the fallback. */
  readonly certificate: (host: string) => SecureContext | undefined;
  /** Never rejects. */
  readonly serve: (request: Request, response: Response, arrival: Arrival) => Promise<void>;
}

/** How often Node.js looks for connections that have used up their time. */
const checkingMs = 2000;
/** More than a backend's silence, so that its client hears of that. */
const marginMs = 10_000;
/** HTTP/2 in the clear begins with this wish, which need not be granted (RFC 9113, 3.1), and would lead around the rules. */
const clearHttp2 = 'h2c';

export class IngressServer {
  readonly #options: IngressServerOptions;
  readonly #servers: { readonly scheme: Arrival['scheme']; readonly server: Server }[] = [];
  readonly #sessions = new Set<ServerHttp2Session>();
  #isClosing = false;

  constructor(options: IngressServerOptions) {
    this.#options = options;
  }

  /** Where it listens; undefined: not there. */
  port(scheme: Arrival['scheme']): number | undefined {
    const found = this.#servers.find((each) => each.scheme === scheme)?.server.address();
    return typeof found === 'object' && found !== null ? found.port : undefined;
  }

  /** Rejects when a port cannot be listened at; none is open then. */
  async listen(): Promise<void> {
    const { address, httpPort, httpsPort } = this.#options;
    const host = address === '' ? {} : { host: address };
    try {
      if (httpPort !== undefined)
        await this.#open('http', createServer(this.#http1Options()), { ...host, port: httpPort });
      if (httpsPort !== undefined) await this.#open('https', this.#secureServer(), { ...host, port: httpsPort });
    } catch (error) {
      for (const { server } of this.#servers) server.close();
      this.#servers.length = 0;
      throw error;
    }
  }

  /** Lets requests under way end for a while. */
  async close(): Promise<void> {
    const { clock, connections, limits } = this.#options;
    this.#isClosing = true;
    const done = new AbortController();
    const closed = this.#servers.map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const session of this.#sessions) session.close();
    for (const { server } of this.#servers) server.closeIdleConnections();
    const cut = clock.sleep(limits.graceMs, done.signal).then(() => connections.destroy());
    await Promise.all(closed);
    done.abort();
    await cut;
  }

  async #open(scheme: Arrival['scheme'], server: Server, where: { host?: string; port: number }): Promise<void> {
    const { connections, limits, log, serve } = this.#options;
    const arrival = (socket: Socket): Arrival => ({ scheme, port: socket.localPort ?? where.port });
    server.setTimeout(limits.backendMs + marginMs);
    server.maxHeadersCount = 0;
    const http1 = (request: IncomingMessage, response: ServerResponse) => {
      // A connection that was kept for another request is idle only after this.
      response.once('close', () => setImmediate(() => this.#isClosing && server.closeIdleConnections()));
      void serve(request, response, arrival(request.socket));
    };
    server.on('request', http1);
    server.on('checkContinue', http1);
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, { socket: socket as Socket, head }, arrival(socket as Socket)),
    );
    server.on('connection', (socket: Socket) => {
      socket.on('error', () => undefined);
      connections.add(socket);
    });
    server.on('clientError', refuse);
    if (scheme === 'https') this.#divide(server, arrival);
    this.#servers.push({ scheme, server });
    server.listen(where);
    await once(server, 'listening');
    // Connections that cannot be accepted, for want of descriptors for example: those there are go on.
    server.on('error', (error) => log.warn({ err: error }, 'Cannot accept a connection'));
    log.info({ scheme, ...(server.address() as AddressInfo) }, 'Taking requests of Ingresses');
  }

  #http1Options() {
    const { headersMs, idleMs, maxHeaderBytes, requestMs } = this.#options.limits;
    return {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: checkingMs,
      // Whatever two servers could read in two ways.
      insecureHTTPParser: false,
      requireHostHeader: true,
    };
  }

  #secureServer(): Server {
    const { certificate, fallback, limits } = this.#options;
    return createHttpsServer({
      ...this.#http1Options(),
      cert: fallback.certificate,
      key: fallback.privateKey,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: limits.handshakeMs,
      SNICallback: (host, done) => done(null, certificate(host.toLowerCase())),
    }).on('tlsClientError', (_error, socket) => socket.destroy());
  }

  /** Node.js's server of HTTPS gets the connections of HTTP/1.1 only. */
  #divide(server: Server, arrival: (socket: Socket) => Arrival): void {
    const http2 = this.#http2Server(arrival);
    const listeners = server.listeners('secureConnection');
    server.removeAllListeners('secureConnection');
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', () => undefined);
      if (socket.alpnProtocol === 'h2') http2.emit('connection', socket);
      else for (const listener of listeners) listener.call(server, socket);
    });
  }

  #http2Server(arrival: (socket: Socket) => Arrival): Http2Server {
    const { limits, serve } = this.#options;
    const server = createHttp2Server({
      settings: {
        maxConcurrentStreams: limits.maxStreams,
        maxHeaderListSize: limits.maxHeaderBytes,
        enablePush: false,
      },
      // Streams that a client opens and takes back at once count, too.
      maxSessionRejectedStreams: limits.maxStreams,
    });
    server.setTimeout(limits.backendMs + marginMs);
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
      session.on('error', () => session.destroy());
    });
    const http2 = (request: Request, response: Response) =>
      void serve(request, response, arrival(request.socket as Socket));
    server.on('request', http2);
    server.on('checkContinue', http2);
    return server;
  }

  /** Node.js has let go of the connection: what answers it is made here. */
  #upgrade(
    request: IncomingMessage,
    { head, socket }: { readonly socket: Socket; readonly head: Buffer },
    arrival: Arrival,
  ): void {
    const { serve } = this.#options;
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    const protocol = request.headers.upgrade ?? '';
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
    if (encoding !== undefined || length !== '0') {
      answer(response, 400, 'a request for another protocol has no body');
      return;
    }
    const isClear = protocol
      .toLowerCase()
      .split(',')
      .some((each) => each.trim() === clearHttp2);
    if (isClear && head.length > 0) {
      answer(response, 400, 'HTTP/2 is spoken with TLS');
      return;
    }
    void serve(request, response, isClear ? arrival : { ...arrival, upgrade: { socket, head, protocol } });
  }
}

/** As Node.js does, but for what came before: an answer under way is not written into. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  const isAnswering = (socket as Socket & { _httpMessage?: unknown })._httpMessage;
  if (!socket.writable || isAnswering || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, text] = refusals[error.code ?? ''] ?? [400, 'Bad Request'];
  socket.end(`HTTP/1.1 ${status} ${text}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

const refusals: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};
