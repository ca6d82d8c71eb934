/** Forwards requests to the endpoints that rules select. */
import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { type FastifyHttpProxyOptions, fastifyHttpProxy } from '@fastify/http-proxy';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { blockContains, type IPBlock } from '#apimachinery/net/ip.js';
import type { Logger } from '#daemon/log/logger.js';
import { AppUpgrades, answerUpgrade, type UpgradeRequest } from '#daemon/streaming/app-upgrades.js';
import { forwardingOptions, unchangedReplies } from '#daemon/streaming/forwarding.js';
import type { Endpoint } from '#ingress/endpoints/endpoints.js';
import { BackendFailure, type BackendRequest, Backends } from '#ingress/http/backends.js';
import type { IngressLimits } from '#ingress/http/limits.js';
import { type RequestHost, requestHeaders, requestHost } from '#ingress/http/request-headers.js';
import { RequestsInProgress } from '#ingress/http/requests-in-progress.js';
import type { IngressMetrics } from '#ingress/metrics/ingress-metrics.js';
import { requestTarget } from '#ingress/routing/request-path.js';
import type { Route, ServicePort } from '#ingress/routing/routing-table.js';

export interface IngressProxyOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly limits: IngressLimits;
  readonly metrics: IngressMetrics;
  /** Trusted proxies, whose forwarded headers are used. */
  readonly trustedProxies: readonly IPBlock[];
  /** HTTPS port for redirects; undefined: no redirects. */
  readonly securePort: () => number | undefined;
  /** Undefined if no rule matches. */
  readonly route: (host: string, path: string) => Route | undefined;
  readonly endpoints: (backend: ServicePort) => readonly Endpoint[];
}

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/** A request that is being forwarded. */
interface Passage extends Omit<BackendRequest, 'headers'> {
  readonly route: Route;
  readonly host: RequestHost;
  readonly reply: FastifyReply;
}

/** Key for passing the request through the library, among its headers. */
const passageOf = Symbol('passage');
type Headers = BackendRequest['headers'] & { readonly [passageOf]: Passage };

const passedMethods = METHODS.filter((method) => method !== 'CONNECT');

/** Shared, because it carries no information of its own. */
const clientGone = new Error('the client has gone');

export class IngressProxy {
  readonly #options: IngressProxyOptions;
  readonly #backends: Backends;
  readonly #requests: RequestsInProgress;
  readonly #upgrades = new AppUpgrades({ isForwarding: true });
  readonly #passages = new WeakMap<FastifyRequest, Passage>();

  constructor(options: IngressProxyOptions) {
    this.#options = options;
    this.#backends = new Backends(options);
    this.#requests = new RequestsInProgress(options.limits.maxRequests);
  }

  close(): Promise<void> {
    return this.#backends.close();
  }

  /** Adds the only route, for all paths. */
  addTo(app: FastifyInstance): void {
    const { log } = this.#options;
    this.#upgrades.addTo(app);
    // Bodies are forwarded unparsed, whatever their type.
    for (const method of passedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
    app.setErrorHandler((error, _request, reply) => {
      log.error({ err: error }, 'cannot serve a request');
      return answer(reply, 500, 'internal error');
    });
    app.setNotFoundHandler((_request, reply) => answer(reply, 405, 'this method is not passed on'));
    const options: FastifyHttpProxyOptions & { readonly websocket: false } = {
      // Required by the library; the endpoint is chosen per request.
      upstream: 'http://ingress.invalid',
      ...forwardingOptions,
      httpMethods: passedMethods,
      routes: ['/'],
      proxyPayloads: false,
      undici: { request: this.#ask as never },
      handler: (request, reply, _place, replyOptions) => this.#serve(request, reply, replyOptions),
      replyOptions: {
        ...unchangedReplies,
        rewriteRequestHeaders: (request, headers) => this.#requestHeaders(request as FastifyRequest, headers),
        queryString: () => '',
        onResponse: (_request, reply, { stream }) => {
          stream.once('error', () => breakOff(reply.raw as Response));
          reply.send(stream);
        },
        onError: (reply, { error }) => this.#refuse(reply as FastifyReply, error.cause),
      },
    };
    void app.register(fastifyHttpProxy, options);
  }

  #serve(request: FastifyRequest, reply: FastifyReply, options: object): unknown {
    const { clock, endpoints, metrics, route: find, securePort } = this.#options;
    const raw = request.raw as Request;
    const response = reply.raw as Response;
    const started = clock.monotonic();
    // A client that disconnected gets no response.
    raw.on('error', () => undefined);
    response.on('error', () => undefined);
    const counted: { ingress: string; release?: () => void } = { ingress: '' };
    const gone = new AbortController();
    this.#requests.onceEnded(response, isHttp2(response) ? undefined : raw.socket, () => {
      counted.release?.();
      metrics.answered(counted.ingress, response.statusCode, clock.monotonic() - started);
      // HTTP/2 claims of a stream that its client has closed that it is finished.
      if (!response.writableEnded || !response.writableFinished) gone.abort(clientGone);
    });
    const { headers, method, originalUrl } = request;
    if (method === 'TRACE') return answer(reply, 405, 'TRACE is not passed on');
    const requested = requestHost(originalUrl, headers, raw.rawHeaders);
    const target = requested && requestTarget(requested.url);
    // HTTP/1.0 has no chunks; servers disagree about where such a body ends (RFC 9112, 6.1).
    if (raw.httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)
      return answer(closing(reply), 400, 'HTTP/1.0 has no transfer codings');
    // Further codings would be lost with the hop-by-hop header.
    if (headers['transfer-encoding'] !== undefined && headers['transfer-encoding'].toLowerCase() !== 'chunked')
      return answer(reply, 501, 'bodies are passed on in chunks or by their length, without further codings');
    // An ambiguous request may also end at an ambiguous place on its connection.
    if (requested === undefined || target === undefined)
      return answer(closing(reply), 400, 'a request names one host, and a path');
    const route = find(requested.host, target.path);
    if (route === undefined) return answer(reply, 404, 'no ingress has a rule for this host and path');
    counted.ingress = route.ingress;
    const port = securePort();
    if (route.isSecure && schemeOf(raw) === 'http' && port !== undefined && !this.#cameSecurely(raw)) {
      const location = secureLocation(requested, target.target, port);
      return answer(reply, 308, 'this host is served by HTTPS', { location });
    }
    const { backend } = route;
    if (backend === undefined) return answer(reply, 503, 'the backend of this rule does not exist');
    const place = this.#requests.take(this.#isTrusted(raw) ? undefined : addressOf(raw), backend.service);
    if (typeof place === 'string') return this.#refuseFlood(reply, place, backend.service);
    counted.release = place;
    const upgrade = this.#upgrades.of(request);
    const passage: Passage = {
      ...{ route, host: requested, reply },
      endpoints: endpoints(backend),
      method,
      target: target.target,
      body: upgrade === undefined && mayHaveBody(raw) ? raw : undefined,
      // 100 Continue is sent when a backend accepts the body.
      connected() {
        if (headers.expect !== undefined && !response.headersSent) response.writeContinue();
      },
      signal: gone.signal,
    };
    this.#passages.set(request, passage);
    return upgrade === undefined ? reply.from('/', options) : this.#upgrade(request, passage, upgrade);
  }

  /** A client's connection is closed, so that it does not send the next request at once. */
  #refuseFlood(reply: FastifyReply, limit: 'client' | 'service', service: string): FastifyReply {
    this.#options.metrics.rejectedRequests.inc({ limit });
    const { socket } = reply.request.raw;
    // Responses behind others would wait for them, and while they do, the end of the connection would not be noticed.
    if (this.#requests.isPipelined(socket)) socket.destroy();
    const retry = { 'retry-after': '1' };
    return limit === 'client'
      ? answer(closing(reply), 429, 'too many requests of this client are in progress', retry)
      : answer(reply, 503, `too many requests wait for service ${service}`, retry);
  }

  /** The library's way of sending requests. */
  readonly #ask = (
    { headers, method }: { readonly headers: Headers; readonly method: string },
    done: (error: unknown, answer?: Awaited<ReturnType<Backends['ask']>>) => void,
  ): void => {
    const passage = headers[passageOf];
    this.#backends.ask({ ...passage, headers, method }).then(
      (answered) => {
        const { raw } = passage.reply;
        if (!isHttp2(raw)) raw.statusMessage = answered.statusText;
        done(null, answered);
      },
      // The library treats a missing error as success.
      (failure: unknown) => done(failure ?? noEndpoint),
    );
  };

  async #upgrade(request: FastifyRequest, passage: Passage, upgrade: UpgradeRequest): Promise<FastifyReply> {
    const { clock, limits, metrics } = this.#options;
    const { reply, route } = passage;
    const headers = this.#requestHeaders(request, request.headers);
    try {
      const answered = await this.#backends.askUpgrade({ ...passage, headers }, upgrade.protocol);
      if ('switched' in answered) metrics.upgraded(route.ingress);
      return answerUpgrade(reply, upgrade, answered, { clock, silenceMs: limits.tunnelMs });
    } catch (failure) {
      this.#refuse(reply, failure ?? noEndpoint, passage);
      return reply;
    }
  }

  #requestHeaders(request: FastifyRequest, received: FastifyRequest['headers']): Headers {
    const passage = this.#passages.get(request);
    if (passage === undefined) throw new TypeError('a request without a route');
    const raw = request.raw as Request;
    const headers = requestHeaders(received, {
      address: addressOf(raw),
      isTrusted: this.#isTrusted(raw),
      host: passage.host.authority,
      scheme: schemeOf(raw),
      port: raw.socket.localPort ?? 0,
    });
    return { ...headers, [passageOf]: passage };
  }

  #refuse(reply: FastifyReply, failure: unknown, passage = this.#passages.get(reply.request)): void {
    if (passage === undefined || passage.signal.aborted) return;
    const { backend, ingress } = passage.route;
    if (failure === noEndpoint) {
      answer(reply, 503, `service ${backend?.service} has no ready endpoints`, { 'retry-after': '1' });
      return;
    }
    this.#options.log.warn({ err: failure, ingress, service: backend?.service }, 'backend did not respond');
    if (!(failure instanceof BackendFailure))
      answer(reply, 400, `the request cannot be passed on: ${messageOf(failure)}`);
    else if (failure.kind === 'silent') answer(reply, 504, 'the backend did not answer in time');
    else answer(reply, 502, 'the backend could not be asked');
  }

  #isTrusted(request: Request): boolean {
    const address = addressOf(request);
    return this.#options.trustedProxies.some((block) => blockContains(block, address));
  }

  /** A trusted proxy terminated HTTPS. */
  #cameSecurely(request: Request): boolean {
    return request.headers['x-forwarded-proto'] === 'https' && this.#isTrusted(request);
  }
}

const noEndpoint = new Error('there is no ready endpoint');

function isHttp2(response: object): response is Http2ServerResponse {
  return 'stream' in response;
}

/** Ends a response so that its client notices that it is incomplete. */
function breakOff(response: Response): void {
  if (!isHttp2(response)) response.destroy();
  else if (!response.stream.destroyed) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/** A response of the controller itself. */
function answer(reply: FastifyReply, status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
  return reply
    .code(status)
    .headers({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff', ...headers })
    .send(`${text}\n`);
}

/** Closes the client's connection after the response. */
function closing(reply: FastifyReply): FastifyReply {
  return isHttp2(reply.raw) ? reply : reply.header('connection', 'close');
}

function mayHaveBody(request: Request): boolean {
  const { headers } = request;
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  if (length !== undefined) return length !== '0';
  return 'stream' in request && !request.stream.endAfterHeaders;
}

function schemeOf({ socket }: Request): 'http' | 'https' {
  return (socket as TLSSocket).encrypted === true ? 'https' : 'http';
}

const mapped = '::ffff:';

function addressOf(request: Request): string {
  const { remoteAddress = '' } = request.socket;
  // An IPv4 client on a dual-stack socket.
  return remoteAddress.startsWith(mapped) ? remoteAddress.slice(mapped.length) : remoteAddress;
}

function secureLocation({ host }: RequestHost, target: string, port: number): string {
  return `https://${host}${port === 443 ? '' : `:${port}`}${target}`;
}
