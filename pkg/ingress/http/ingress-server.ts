/** The controller's two ports: HTTP/1.1 on both, and HTTP/2 with TLS. Independent of rules. */

import type { Server } from 'node:http';
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { type FastifyInstance, fastify } from 'fastify';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { serveCertificatesByName } from '#daemon/serving/certificates-by-name.js';
import { schemaless } from '#daemon/serving/daemon-app.js';
import type { CertificatePair } from '#daemon/serving/serving-certificate.js';
import type { IngressProxy } from '#ingress/http/ingress-proxy.js';
import type { IngressLimits } from '#ingress/http/limits.js';
import { networkOf } from '#ingress/http/requests-in-progress.js';
import type { IngressMetrics } from '#ingress/metrics/ingress-metrics.js';

export interface IngressServerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: IngressLimits;
  readonly connections: ClientConnections;
  /** Empty: all interfaces. */
  readonly address: string;
  /** 0: any free port; undefined: none. */
  readonly httpPort: number | undefined;
  readonly httpsPort: number | undefined;
  /** PEM pair for hosts without a certificate. */
  readonly fallback: { readonly certificate: string; readonly privateKey: string };
  /** Certificate of a host, which is empty if the client names none; undefined: the fallback. */
  readonly certificate: (host: string) => CertificatePair | undefined;
  /** Handles all requests. */
  readonly proxy: Pick<IngressProxy, 'addTo'>;
}

/** TLS and HTTP versions of all certificates. */
const versions = { minVersion: 'TLSv1.2', ALPNProtocols: ['h2', 'http/1.1'] } as const satisfies TlsOptions;

type Scheme = 'http' | 'https';
type App = FastifyInstance<Server>;

/** How often Node.js checks for expired connections. */
const checkingMs = 2000;
/** Added to the backend's timeout, so that the client gets the 504 response. */
const marginMs = 10_000;

export class IngressServer {
  readonly #options: IngressServerOptions;
  readonly #apps = new Map<Scheme, App>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #isClosing = false;

  constructor(options: IngressServerOptions) {
    this.#options = options;
  }

  /** The bound port; undefined if not listening. */
  port(scheme: Scheme): number | undefined {
    const address = this.#apps.get(scheme)?.server.address();
    return typeof address === 'object' && address !== null ? address.port : undefined;
  }

  /** Rejects if a port is not available; all are closed then. */
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

  /** Lets running requests complete for a while. */
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
      // A kept connection counts as idle only after this event.
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
    // Accept errors, for example without free descriptors: existing connections continue.
    server.on('error', (error) => log.warn({ err: error }, 'cannot accept a connection'));
    log.info({ scheme, ...(server.address() as AddressInfo) }, 'serving Ingresses');
  }

  #app(scheme: Scheme): App {
    const { certificate, clock, fallback, limits } = this.#options;
    const { backendMs, handshakeMs, headersMs, idleMs, maxHeaderBytes, maxStreams, requestMs } = limits;
    const http1 = {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: checkingMs,
      // Refuse what two servers could interpret differently.
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
      // Rules match paths themselves; the router must not.
      rewriteUrl: () => '/',
      schemaController: schemaless,
    };
    if (scheme === 'http') return fastify({ ...common, http: http1 });
    const app = fastify<Http2SecureServer>({
      ...common,
      http2: true,
      https: {
        ...http1,
        ...versions,
        allowHTTP1: true,
        cert: fallback.certificate,
        key: fallback.privateKey,
        handshakeTimeout: handshakeMs,
        settings: { maxConcurrentStreams: maxStreams, maxHeaderListSize: maxHeaderBytes, enablePush: false },
        // Also limits streams that a client opens and cancels immediately.
        maxSessionRejectedStreams: maxStreams,
      },
    });
    serveCertificatesByName(app.server, {
      hasNames: () => true,
      pairFor: ({ serverName = '' }) => certificate(serverName),
      settings: () => versions,
      handshakeMs,
      clock,
    });
    // These options are missing in the types and in Node.js 22; the properties work in all versions.
    Object.assign(app.server, http1);
    return app as unknown as App;
  }
}

/** Answers like Node.js, but never writes into a running response. */
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

export interface ClientConnectionsOptions {
  readonly limits: Pick<IngressLimits, 'maxConnections' | 'maxConnectionsPerClient'>;
  readonly metrics: IngressMetrics;
  /** Trusted proxies have many clients behind one address. */
  readonly isTrusted: (address: string) => boolean;
}

export class ClientConnections {
  readonly #options: ClientConnectionsOptions;
  readonly #open = new Set<Socket>();
  readonly #byNetwork = new Map<string, number>();

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
  }

  /** False if a limit is reached; the connection is closed. */
  add(socket: Socket): boolean {
    const { isTrusted, limits, metrics } = this.#options;
    const address = socket.remoteAddress ?? '';
    const network = networkOf(address);
    const held = this.#byNetwork.get(network) ?? 0;
    const isFull = limits.maxConnections > 0 && this.#open.size >= limits.maxConnections;
    const isGreedy =
      limits.maxConnectionsPerClient > 0 && held >= limits.maxConnectionsPerClient && !isTrusted(address);
    if (isFull || isGreedy) {
      metrics.rejectedConnections.inc({ limit: isFull ? 'all' : 'client' });
      socket.destroy();
      return false;
    }
    this.#open.add(socket);
    this.#byNetwork.set(network, held + 1);
    metrics.connections.inc();
    socket.once('close', () => this.#closed(socket, network));
    return true;
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #closed(socket: Socket, network: string): void {
    this.#open.delete(socket);
    this.#options.metrics.connections.dec();
    const left = (this.#byNetwork.get(network) ?? 1) - 1;
    if (left === 0) this.#byNetwork.delete(network);
    else this.#byNetwork.set(network, left);
  }
}
