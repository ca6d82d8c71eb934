/**
 * A daemon's HTTPS port: health, metrics and the daemon's own routes; every request is authenticated and authorized.
 *
 * Order for each request: parse the target (400), authenticate (401 for a wrong credential), authorize (403), then
 * route or upgrade. All steps use the same parsed target.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer, ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type FastifyReply, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import {
  forbidden,
  internalError,
  pathNotFound,
  type Status,
  type StatusError,
  statusOf,
  unauthorized,
} from '#apimachinery/errors/status.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import type { Logger } from '#daemon/log/logger.js';
import type { MetricsView } from '#daemon/metrics/registry.js';
import type { AccessAttributes } from '#daemon/serving/authorizer.js';
import { serveCertificatesByName } from '#daemon/serving/certificates-by-name.js';
import {
  type ConnectionLimits,
  http1Limits,
  maxHeaderBytes,
  standardLimits,
  tcpKeepAliveMs,
} from '#daemon/serving/connection-limits.js';
import { type DaemonApp, schemaless } from '#daemon/serving/daemon-app.js';
import type { DelegatedAuth } from '#daemon/serving/delegated-auth.js';
import type { HealthChecks } from '#daemon/serving/health.js';
import { parseRequestTarget, type RequestTarget } from '#daemon/serving/request-target.js';
import { pairOf, type ServingCertificates, type SniCertificate } from '#daemon/serving/serving-certificate.js';
import { addDebugRoutes, addHealthRoutes, addMetricsRoute } from '#daemon/serving/standard-routes.js';
import { secureVersion, serverCiphers } from '#daemon/serving/tls-names.js';
import type { ServingUser } from '#daemon/serving/user.js';
import { AppUpgrades, detachUpgrade, type UpgradeRequest } from '#daemon/streaming/app-upgrades.js';

/** An authenticated and authorized connection that switches to another protocol. */
export interface Upgrade {
  readonly target: RequestTarget;
  readonly user: ServingUser;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that followed the request's head. */
  readonly head: Buffer;
}

/** A refused request and what is known about it. */
export interface Refusal {
  readonly status: Status;
  readonly user: ServingUser | undefined;
  readonly attributes: AccessAttributes | undefined;
}

export interface DaemonServerOptions {
  readonly bindAddress: string;
  /** 0: the system chooses. */
  readonly port: number;
  /** Other processes may listen on the same address and port (SO_REUSEPORT). Absent: they may not. */
  readonly sharesPort?: boolean;
  /** If the port is in use, the system chooses another one. Absent: start fails. */
  readonly isPortOnlyPreferred?: boolean;
  /** Absent: handshakes fail until certificates are set. */
  readonly certificates?: ServingCertificates | undefined;
  /** IANA names; empty: the runtime's defaults. */
  readonly cipherSuites?: readonly string[];
  /** `VersionTLS12` and so on. */
  readonly minVersion?: string | undefined;
  readonly auth: DelegatedAuth;
  readonly health: HealthChecks;
  readonly metrics?: Registry;
  readonly metricsView?: MetricsView;
  /** `/configz`, `/debug/…`. */
  readonly debug?: DebugEndpoints;
  readonly log: Logger;
  readonly clock: Clock;
  /** Absent: the API server's limits. */
  readonly limits?: Partial<ConnectionLimits> & { readonly connections?: number };
  /** Attributes for the authorizer; absent: path and lower-case method. */
  readonly attributes?: (target: RequestTarget) => AccessAttributes;
  /** Text of a refusal, for clients that expect no Status. */
  readonly refusalText?: (refusal: Refusal) => string;
  /** Adds the daemon's own routes. */
  readonly routes?: (app: DaemonApp) => void;
  /** Called for each new connection, before its handshake. */
  readonly onConnection?: () => void;
  /** Called for each request with its raw method and path; the returned function is called at its end. */
  readonly onRequest?: (method: string, url: string) => () => void;
  /** Takes an authorized upgrade and owns its socket. */
  readonly upgrade?: (upgrade: Upgrade) => void;
}

/** Limit of open connections; further ones are closed. A node's busiest server has a few per pod. */
const maxConnections = 2_000;

/** Parsed target of a request, or its refusal, and its user once admitted. */
interface Admission {
  readonly target?: RequestTarget;
  readonly refusal?: StatusError;
  user?: ServingUser;
}

export class DaemonServer {
  readonly #options: DaemonServerOptions;
  readonly #app: DaemonApp;
  readonly #admissions = new WeakMap<IncomingMessage, Admission>();
  readonly #upgrades = new AppUpgrades({ isForwarding: false });
  /** Certificates of server names. */
  #sni: readonly SniCertificate[];

  constructor(options: DaemonServerOptions) {
    this.#options = options;
    this.#sni = options.certificates?.sni ?? [];
    const limits = { ...standardLimits, ...options.limits };
    const timeouts = http1Limits(limits);
    this.#app = fastify<HttpsServer>({
      https: {
        ...tlsOptions(options),
        handshakeTimeout: limits.handshakeMs,
        maxHeaderSize: maxHeaderBytes,
        connectionsCheckingInterval: timeouts.connectionsCheckingInterval,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: tcpKeepAliveMs,
      },
      keepAliveTimeout: timeouts.keepAliveTimeout,
      requestTimeout: timeouts.requestTimeout,
      forceCloseConnections: true,
      // The router sees the normalized URL that was authorized.
      rewriteUrl: (raw) => this.#read(raw as IncomingMessage).target?.url ?? '/',
      schemaController: schemaless,
    });
    serveCertificatesByName(this.#app.server, {
      hasNames: () => this.#sni.length > 0,
      pairFor: (greeting) => pairOf(this.#sni, greeting),
      settings: () => tlsOptions(options),
      handshakeMs: limits.handshakeMs,
      clock: options.clock,
    });
    this.#app.server.headersTimeout = timeouts.headersTimeout;
    this.#app.server.maxConnections = options.limits?.connections ?? maxConnections;
    this.#app.addHook('onRequest', async (request, reply) => {
      const upgrade = this.#upgrades.of(request);
      const refusal =
        upgrade !== undefined && options.upgrade === undefined ? pathNotFound() : await this.#admit(request.raw);
      if (refusal !== undefined) await this.#refuse(request.raw, reply, refusal.status);
      else if (upgrade === undefined) return;
      else this.#upgrade(upgrade, request.raw, reply);
      return reply;
    });
    this.#app.setNotFoundHandler((request, reply) => this.#refuse(request.raw, reply, pathNotFound().status));
    this.#app.setErrorHandler((error, request, reply) => {
      const status = statusOf(error);
      if (status === undefined) options.log.error({ err: error, path: request.url }, 'request failed');
      return this.#refuse(request.raw, reply, status ?? internalError(error).status);
    });
    addHealthRoutes(this.#app, options.health, { log: options.log, endpoints: ['healthz', 'livez', 'readyz'] });
    addMetricsRoute(this.#app, options.metrics, options.metricsView);
    if (options.debug !== undefined) addDebugRoutes(this.#app, options.debug);
    options.routes?.(this.#app);
    if (options.onConnection !== undefined) this.#app.server.on('connection', options.onConnection);
    const { onRequest } = options;
    if (onRequest !== undefined) {
      const observe = ({ method = '', url = '' }: IncomingMessage, exchange: ServerResponse | Duplex) =>
        exchange.once('close', onRequest(method, url));
      this.#app.server.on('request', observe).on('upgrade', observe);
    }
    this.#upgrades.addTo(this.#app);
  }

  /** Starts to listen. Rejects if the address is in use or not local. */
  async start(): Promise<AddressInfo> {
    const { port, bindAddress, log, isPortOnlyPreferred = false, sharesPort = false } = this.#options;
    const host = bindAddress === '' ? '::' : bindAddress;
    try {
      // Node.js gets all of these; the types of the framework lack the last one.
      const place = { port, host, reusePort: sharesPort };
      await this.#app.listen(place);
    } catch (error) {
      if (!isPortOnlyPreferred || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      await this.#app.listen({ port: 0, host });
    }
    // Accept errors, for example without free descriptors: existing connections continue.
    this.#app.server.on('error', (error) => log.warn({ err: error }, 'cannot accept a connection'));
    const address = this.#app.server.address() as AddressInfo;
    log.info({ address: address.address, port: address.port }, 'serving securely');
    return address;
  }

  /** The user of a request; undefined if this server did not admit it. */
  userOf(request: IncomingMessage): ServingUser | undefined {
    return this.#admissions.get(request)?.user;
  }

  /** Closes all connections and stops listening. Idempotent. */
  async close(): Promise<void> {
    await this.#app.close();
  }

  /** Uses the certificates for new connections. */
  replaceCertificates(certificates: ServingCertificates): void {
    this.#sni = certificates.sni;
    this.#app.server.setSecureContext(tlsOptions({ ...this.#options, certificates }));
  }

  #refusalBody(request: IncomingMessage, status: Status): { readonly type: string; readonly body: string } {
    const { refusalText, attributes = pathAttributes } = this.#options;
    if (refusalText === undefined) return { type: 'application/json', body: JSON.stringify(status) };
    const { target, user } = this.#read(request);
    const requested = target === undefined ? undefined : attributes(target);
    return { type: 'text/plain; charset=utf-8', body: refusalText({ status, user, attributes: requested }) };
  }

  async #refuse(request: IncomingMessage, reply: FastifyReply, status: Status): Promise<void> {
    const { type, body } = this.#refusalBody(request, status);
    await reply
      .code(status.code ?? 500)
      .header('content-type', type)
      .header('x-content-type-options', 'nosniff')
      .send(body);
  }

  /** Parses the request once and caches the result. */
  #read(request: IncomingMessage): Admission {
    const existing = this.#admissions.get(request);
    if (existing !== undefined) return existing;
    const admission = readRequest(request);
    this.#admissions.set(request, admission);
    return admission;
  }

  /** Authenticates and authorizes the request and records its user. Returns the refusal, or undefined. */
  async #admit(request: IncomingMessage): Promise<StatusError | undefined> {
    const { auth, attributes = pathAttributes, log } = this.#options;
    const admission = this.#read(request);
    const { target } = admission;
    if (target === undefined) return admission.refusal;
    try {
      const user = await this.#authenticate(request);
      if (user === undefined) return unauthorized();
      admission.user = user;
      const requested = attributes(target);
      const decision = await auth.authorizer.authorize(user, requested);
      if (decision.allowed) return undefined;
      const subject = 'path' in requested ? `path "${requested.path}"` : `resource "${requested.resource}"`;
      const reason = decision.reason === '' ? '' : `: ${decision.reason}`;
      const why = `User "${user.name}" cannot ${requested.verb} ${subject}${reason}`;
      return forbidden({ group: '', resource: '' }, '', why);
    } catch (error) {
      log.error({ err: error, path: target.path }, 'cannot authorize the request');
      return internalError(error);
    }
  }

  /** Undefined for wrong credentials and for those that cannot be checked now. */
  async #authenticate(request: IncomingMessage): Promise<ServingUser | undefined> {
    const { auth, log } = this.#options;
    const certificate = (request.socket as TLSSocket).getPeerX509Certificate?.();
    try {
      return await auth.authenticator.authenticate({
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        clientCertificate: certificate?.raw,
      });
    } catch (error) {
      if (statusOf(error)?.code !== 401) log.error({ err: error }, 'unable to authenticate the request');
      return undefined;
    }
  }

  #upgrade({ socket, head }: UpgradeRequest, request: IncomingMessage, reply: FastifyReply): void {
    const { target, user } = this.#read(request);
    if (target === undefined || user === undefined) throw new Error('the request was not admitted');
    detachUpgrade(reply, socket);
    this.#options.upgrade?.({ target, user, request, socket, head });
  }
}

function readRequest({ method = 'GET', url = '/' }: IncomingMessage): Admission {
  try {
    return { target: parseRequestTarget(method, url) };
  } catch (error) {
    return { refusal: statusOf(error) === undefined ? internalError(error) : (error as StatusError) };
  }
}

function pathAttributes({ method, path }: RequestTarget): AccessAttributes {
  return { path, verb: method.toLowerCase() };
}

function tlsOptions(
  options: Pick<DaemonServerOptions, 'certificates' | 'auth' | 'cipherSuites' | 'minVersion'>,
): ServerOptions {
  const { certificates, auth, cipherSuites = [], minVersion } = options;
  const version = minVersion === undefined || minVersion === '' ? undefined : secureVersion(minVersion);
  return {
    ...(certificates === undefined ? {} : { cert: certificates.pair.cert, key: certificates.pair.key }),
    // Signatures are checked per request, because front proxies and users have different bundles.
    requestCert: auth.asksForCertificates,
    rejectUnauthorized: false,
    ...(auth.clientCaPems.length > 0 ? { ca: [...auth.clientCaPems] } : {}),
    ciphers: serverCiphers(cipherSuites),
    ...(version === undefined ? {} : { minVersion: version }),
  };
}
