/**
 * An HTTPS server for HTTP/1.1 and HTTP/2 on one port: optional client certificates, streamed responses with
 * back-pressure, and upgrades. Independent of what it serves.
 */
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { DEFAULT_CIPHERS, type TLSSocket } from 'node:tls';
import { serveCertificatesByName } from '#daemon/serving/certificates-by-name.js';
import { http1Limits, maxHeaderBytes } from '#daemon/serving/connection-limits.js';
import { WriteBuffers } from '#http/http2/frame-writer.js';
import { ResponseHeads } from '#http/http2/response-heads.js';
import { Accounts } from '#http/server/accounts.js';
import { Bodies } from '#http/server/bodies.js';
import { networkOf } from '#http/server/client-connections.js';
import { Connections } from '#http/server/connections.js';
import { Handshakes } from '#http/server/handshakes.js';
import { Http1Connections } from '#http/server/http1-connections.js';
import { Http2Connection, type Http2ConnectionOptions } from '#http/server/http2-connection.js';
import { RequestServer } from '#http/server/request-server.js';
import {
  defaultLimits,
  type ServerLimits,
  type ServerOptions,
  standardCapacity,
  type TLSMaterial,
} from '#http/server/server-options.js';
import { type ServerShares, Shares } from '#http/server/server-request.js';

const defaultConcurrentStreams = 250;

export class HttpsServer {
  readonly #options: ServerOptions;
  #tls: TLSMaterial;
  readonly #server: Server;
  readonly #limits: ServerLimits;
  readonly #connections: Connections;
  readonly #shares: ServerShares;
  readonly #handshakes: Handshakes;
  readonly #http1: Http1Connections;
  readonly #http2: Http2ConnectionOptions;
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#tls = options.tls;
    this.#limits = { ...defaultLimits, ...options.limits };
    const capacity = { ...standardCapacity, ...options.capacity };
    this.#shares = { requests: new Shares(capacity.requests), bodyBytes: new Shares(capacity.bodyBytes) };
    const { clock, writer, log, maxBodyBytes, maxConcurrentStreams = 0, observer } = options;
    const connections = new Connections({
      clock,
      idleMs: this.#limits.idleMs,
      stallMs: writer.stallMs,
      maxConnections: capacity.connections,
      accounts: new Accounts({ weightOf: options.weightOf, nowMs: () => clock.monotonic() }),
      asksForCertificates: () => this.#tls.clientCA !== undefined,
    });
    this.#connections = connections;
    const { handshakeMs, requestMs } = this.#limits;
    this.#handshakes = new Handshakes({
      clock,
      waitMs: handshakeMs,
      defer: setImmediate,
      isPreferred: (network) => connections.isPreferred(network),
    });
    const shares = this.#shares;
    const bodies = new Bodies({
      clock,
      maxBytes: maxBodyBytes,
      periodMs: this.#limits.bodyPeriodMs,
      limitMs: requestMs,
    });
    const server = new RequestServer({
      ...options,
      defer: setImmediate,
      aborted: (request) => observer?.aborted(request),
    });
    const maxStreams = maxConcurrentStreams > 0 ? maxConcurrentStreams : defaultConcurrentStreams;
    this.#http1 = new Http1Connections({
      clock,
      server,
      connections,
      upgrade: options.upgrade,
      writer,
      log,
      shares,
      bodies,
      maxBodyBytes,
      maxWaiting: maxStreams,
      lingerMs: this.#limits.lingerMs,
    });
    const heads = new ResponseHeads(() => clock.now());
    const { goAway } = options;
    const buffers = new WriteBuffers();
    this.#http2 = {
      ...{ clock, server, connections, heads, buffers, shares, bodies },
      ...{ maxStreams, maxHeaderBytes, maxBodyBytes, goAway },
    };
    this.#server = this.#build();
  }

  /** Resolves with the address once connections are accepted. */
  async listen(): Promise<AddressInfo> {
    const { host, port, sharesPort = false } = this.#options;
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, reusePort: sharesPort }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    // Accept errors, for example without file descriptors: existing connections continue.
    server.on('error', (err) => this.#options.log.warn({ err }, 'cannot accept a connection'));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no TCP address');
    return address;
  }

  /** New connections use the new certificate, key and authorities; open ones are unchanged. */
  reloadTLS(tls: TLSMaterial): void {
    this.#tls = tls;
    this.#server.setSecureContext(contextOf(tls));
  }

  /**
   * Stops accepting, lets running requests complete for at most `graceMs`, then cuts the rest. The handler must have
   * ended its long-lived responses before.
   */
  close(graceMs: number, sleep: (ms: number, signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#closing ??= this.#close(graceMs, sleep);
    return this.#closing;
  }

  async #close(graceMs: number, sleep: (ms: number, signal: AbortSignal) => Promise<void>): Promise<void> {
    const done = new AbortController();
    const closed = new Promise<void>((resolve) => {
      // Fails only if the server did not listen; then there is nothing to wait for.
      this.#server.close(() => resolve());
    });
    this.#connections.drain();
    this.#server.closeIdleConnections();
    const cut = sleep(graceMs, done.signal).then(() => this.#connections.destroy());
    await closed;
    done.abort();
    await cut;
  }

  #build(): Server {
    const { tls } = this.#options;
    const http1 = this.#http1;
    const server = createServer(
      {
        ...contextOf(tls),
        ...http1Limits(this.#limits),
        maxHeaderSize: maxHeaderBytes,
        // The Host header is checked here, to report errors in 1.24's words.
        requireHostHeader: false,
        ...clientCertificates(tls),
        handshakeTimeout: this.#limits.handshakeMs,
      },
      http1.listener,
    );
    serveCertificatesByName(server, {
      hasNames: () => this.#tls.pairFor !== undefined,
      pairFor: (greeting) => this.#tls.pairFor?.(greeting),
      settings: () => ({ ...contextOf(this.#tls), ...clientCertificates(this.#tls) }),
      handshakeMs: this.#limits.handshakeMs,
      clock: this.#options.clock,
    });
    this.#pace(server);
    server.setTimeout(0);
    // 100 Continue is sent when the body is read.
    server.on('checkContinue', (request, response) => http1.serve(request, response, true));
    server.on('upgrade', (request, socket, head) => void http1.upgrade(request, socket, head));
    server.on('clientError', (error, socket) => http1.refuse(error, socket as TLSSocket));
    this.#divide(server);
    // A client that speaks no TLS or disconnects is not an error of the server.
    server.on('tlsClientError', (err, socket) => {
      this.#options.observer?.handshakeFailed();
      this.#options.log.debug({ err, remote: socket.remoteAddress }, 'TLS handshake failed');
    });
    return server;
  }

  /** Counts connections before their handshakes, which then take turns. */
  #pace(server: Server): void {
    const listeners = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      this.#connections.admit(socket);
      this.#handshakes.await(socket, networkOf(socket.remoteAddress ?? ''), () => {
        for (const listener of listeners) listener.call(server, socket);
      });
    });
  }

  /** Passes only HTTP/1.1 connections to Node.js's server. */
  #divide(server: Server): void {
    const listeners = server.listeners('secureConnection');
    server.removeAllListeners('secureConnection');
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#connections.add(socket);
      if (socket.alpnProtocol === 'h2') new Http2Connection(socket, this.#http2);
      else for (const listener of listeners) listener.call(server, socket);
    });
  }
}

/** Node.js's ciphers, after the cheapest one, which is also the first of 1.24's servers. */
const cheapest = 'TLS_AES_128_GCM_SHA256';
const preferredCiphers = [cheapest, ...DEFAULT_CIPHERS.split(':').filter((name) => name !== cheapest)].join(':');

/** Authenticators decide about certificates, since they accept other credentials, too. */
function clientCertificates({ clientCA }: TLSMaterial) {
  return { requestCert: clientCA !== undefined, rejectUnauthorized: false };
}

function contextOf(tls: TLSMaterial) {
  return {
    cert: tls.cert,
    key: tls.key,
    minVersion: tls.minVersion ?? ('TLSv1.2' as const),
    ALPNProtocols: ['h2', 'http/1.1'],
    ...(tls.clientCA === undefined ? {} : { ca: tls.clientCA }),
    ciphers: tls.ciphers ?? preferredCiphers,
  };
}
