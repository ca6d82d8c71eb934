/** The two ports of the controller: HTTP/1.1 on both, and HTTP/2 where there is TLS. Knows nothing of rules. */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { schemaless } from '#daemon/serving/daemon-app.js';
import type { IngressProxy } from '#ingress/http/ingress-proxy.js';
import type { IngressLimits } from '#ingress/http/limits.js';
import type { IngressMetrics } from '#ingress/metrics/ingress-metrics.js';
import { type FastifyInstance, fastify } from 'fastify';
import type { Server } from 'node:http';
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';

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
  /** Answers all requests. */
  readonly proxy: Pick<IngressProxy, 'addTo'>;
}

type Scheme = 'http' | 'https';
type App = FastifyInstance<Server>;

/** How often Node.js looks for connections that have used up their time. */
const checkingMs = 2000;
/** More than a backend's silence, so that its client hears of that. */
const marginMs = 10_000;

export class IngressServer {
  readonly #options: IngressServerOptions;
  readonly #apps = new Map<Scheme, App>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #isClosing = false;

  constructor(options: IngressServerOptions) {
    this.#options = options;
  }

  /** Where it listens; undefined: not there. */
  port(scheme: Scheme): number | undefined {
    const address = this.#apps.get(scheme)?.server.address();
    return typeof address === 'object' && address !== null ? address.port : undefined;
  }

  /** Rejects when a port cannot be listened at; none is open then. */
  async listen(): Promise<void> {
    const { httpPort, httpsPort } = this.#options;
    try {
      if (httpPort !== undefined) await this.#open('http', httpPort);
      if (httpsPort !== undefined) await this.#open('https', httpsPort);
    } catch (error) {
      await Promise.all([...this.#apps.values()].map((app) => app.close()));
      this.#apps.clear();
      throw error;
    }
  }

  /** Lets requests under way end for a while. */
  async close(): Promise<void> {
    const { clock, connections, limits } = this.#options;
    this.#isClosing = true;
    const done = new AbortController();
    const closed = [...this.#apps.values()].map((app) => app.close());
    for (const session of this.#sessions) session.close();
    const cut = clock.sleep(limits.graceMs, done.signal).then(() => connections.destroy());
    await Promise.all(closed);
    done.abort();
    await cut;
  }

  async #open(scheme: Scheme, port: number): Promise<void> {
    const { address, connections, log, proxy } = this.#options;
    const app = this.#app(scheme);
    const { server } = app;
    proxy.addTo(app);
    server.maxHeadersCount = 0;
    server.on('request', (_request, response) => {
      // A connection that was kept for another request is idle only after this.
      response.once('close', () => setImmediate(() => this.#isClosing && server.closeIdleConnections()));
    });
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
    server.on('connection', (socket: Socket) => {
      socket.on('error', () => undefined);
      connections.add(socket);
    });
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#apps.set(scheme, app);
    await app.listen({ port, host: address === '' ? '::' : address });
    // Connections that cannot be accepted, for want of descriptors for example: those there are go on.
    server.on('error', (error) => log.warn({ err: error }, 'cannot accept a connection'));
    log.info({ scheme, ...(server.address() as AddressInfo) }, 'serving Ingresses');
  }

  #app(scheme: Scheme): App {
    const { certificate, fallback, limits } = this.#options;
    const { backendMs, handshakeMs, headersMs, idleMs, maxHeaderBytes, maxStreams, requestMs } = limits;
    const http1 = {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: checkingMs,
      // Whatever two servers could read in two ways.
      insecureHTTPParser: false,
      requireHostHeader: true,
    };
    const common = {
      connectionTimeout: backendMs + marginMs,
      http2SessionTimeout: backendMs + marginMs,
      keepAliveTimeout: idleMs,
      requestTimeout: requestMs,
      forceCloseConnections: 'idle' as const,
      return503OnClosing: false,
      clientErrorHandler: refuse,
      // The rules of Ingresses read paths, no router.
      rewriteUrl: () => '/',
      schemaController: schemaless,
    };
    if (scheme === 'http') return fastify({ ...common, http: http1 });
    const app = fastify<Http2SecureServer>({
      ...common,
      http2: true,
      https: {
        ...http1,
        allowHTTP1: true,
        cert: fallback.certificate,
        key: fallback.privateKey,
        minVersion: 'TLSv1.2',
        handshakeTimeout: handshakeMs,
        SNICallback: (host, done) => done(null, certificate(host.toLowerCase())),
        settings: { maxConcurrentStreams: maxStreams, maxHeaderListSize: maxHeaderBytes, enablePush: false },
        // Streams that a client opens and takes back at once count, too.
        maxSessionRejectedStreams: maxStreams,
      },
    });
    // The types know of no HTTP/1.1 here, and Node.js 22 of no such options; all versions go by the properties.
    Object.assign(app.server, http1);
    return app as unknown as App;
  }
}

/** As Node.js does, but for what came before: an answer under way is not written into. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
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

/** The connections of clients: how many there may be, and all of them when the controller ends. */

export interface ClientConnectionsOptions {
  readonly limits: Pick<IngressLimits, 'maxConnections' | 'maxConnectionsPerClient'>;
  readonly metrics: IngressMetrics;
  /** Proxies in front have many clients behind one address. */
  readonly isTrusted: (address: string) => boolean;
}

export class ClientConnections {
  readonly #options: ClientConnectionsOptions;
  readonly #open = new Set<Socket>();
  readonly #byAddress = new Map<string, number>();

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
  }

  /** False: there are too many, and the connection is closed. */
  add(socket: Socket): boolean {
    const { isTrusted, limits, metrics } = this.#options;
    const address = socket.remoteAddress ?? '';
    const held = this.#byAddress.get(address) ?? 0;
    const isFull = limits.maxConnections > 0 && this.#open.size >= limits.maxConnections;
    const isGreedy =
      limits.maxConnectionsPerClient > 0 && held >= limits.maxConnectionsPerClient && !isTrusted(address);
    if (isFull || isGreedy) {
      metrics.rejectedConnections.inc({ limit: isFull ? 'all' : 'client' });
      socket.destroy();
      return false;
    }
    this.#open.add(socket);
    this.#byAddress.set(address, held + 1);
    metrics.connections.inc();
    socket.once('close', () => this.#closed(socket, address));
    return true;
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #closed(socket: Socket, address: string): void {
    this.#open.delete(socket);
    this.#options.metrics.connections.dec();
    const left = (this.#byAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, left);
  }
}
