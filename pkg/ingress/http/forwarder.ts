/** Passes requests on to the endpoints that their rules name, and the answers back. */
import { Agent, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { blockContains, type IPBlock } from '#apimachinery/net/ip.js';
import type { Logger } from '#daemon/log/logger.js';
import { chooseEndpoint } from '#ingress/endpoints/choose.js';
import { type Endpoint, placeOf } from '#ingress/endpoints/endpoints.js';
import {
  askBackend,
  type BackendAnswer,
  BackendFailure,
  type BackendRequest,
  isRepeatable,
} from '#ingress/http/backend-request.js';
import { answerHeaders, type Client, requestHeaders } from '#ingress/http/forwarded-headers.js';
import type { IngressLimits } from '#ingress/http/limits.js';
import { answer, breakOff, isHttp2, type Request, type Response } from '#ingress/http/message.js';
import { type RequestHost, requestHost } from '#ingress/http/request-host.js';
import { openTunnel } from '#ingress/http/tunnel.js';
import type { IngressMetrics } from '#ingress/metrics/ingress-metrics.js';
import { requestTarget } from '#ingress/routing/request-path.js';
import type { Route, ServicePort } from '#ingress/routing/routing-table.js';

export interface ForwarderOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly limits: IngressLimits;
  readonly metrics: IngressMetrics;
  /** Proxies in front whose headers about their clients count. */
  readonly trustedProxies: readonly IPBlock[];
  /** Where clients come by HTTPS; undefined: none are sent there. */
  readonly securePort: () => number | undefined;
  /** Undefined: no rule matches. */
  readonly route: (host: string, path: string) => Route | undefined;
  readonly endpoints: (backend: ServicePort) => readonly Endpoint[];
}

/** How a request came in. */
export interface Arrival {
  readonly scheme: 'http' | 'https';
  /** At which it arrived. */
  readonly port: number;
  /** Of a request for another protocol: the connection, and what came after the request. */
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer; readonly protocol: string } | undefined;
}

/** Endpoints that are tried for one request. */
const maxTries = 3;
/** How long an endpoint that could not be connected with is tried last. */
const restMs = 5000;
/** Idle connections that are kept to one endpoint. */
const maxIdle = 32;
/** For a client to take an answer that came before its body had ended. */
const lingerMs = 2000;

/** One for all: it tells nothing of its own. */
const clientGone = new Error('the client has gone');

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #kept: Agent;
  /** Makes a connection for each request. */
  readonly #fresh = new Agent({ keepAlive: false });

  constructor(options: ForwarderOptions) {
    this.#options = options;
    const { backendMs } = options.limits;
    this.#kept = new Agent({ keepAlive: true, maxFreeSockets: maxIdle, timeout: backendMs, scheduling: 'lifo' });
  }

  close(): void {
    this.#kept.destroy();
    this.#fresh.destroy();
  }

  /** Answers the request, whatever comes. Never rejects. */
  async serve(request: Request, response: Response, arrival: Arrival): Promise<void> {
    const { clock, log, metrics } = this.#options;
    const started = clock.monotonic();
    // Of a client that has gone: there is nobody to tell.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    const counted = { ingress: '' };
    response.once('close', () => metrics.answered(counted.ingress, response.statusCode, clock.monotonic() - started));
    try {
      await this.#serve(request, response, { arrival, counted });
    } catch (error) {
      log.error({ err: error }, 'A request could not be answered');
      if (response.headersSent) breakOff(response);
      else answer(response, 500, 'internal error');
    }
  }

  async #serve(
    request: Request,
    response: Response,
    { arrival, counted }: { arrival: Arrival; counted: { ingress: string } },
  ): Promise<void> {
    const { endpoints, route: find } = this.#options;
    const { headers, method = '', rawHeaders, url = '' } = request;
    if (method === 'TRACE') return answer(response, 405, 'TRACE is not passed on');
    const asked = requestHost(url, headers, rawHeaders);
    const target = asked && requestTarget(asked.url);
    // A coding of the body would be lost with the header.
    if (headers['transfer-encoding'] !== undefined && headers['transfer-encoding'].toLowerCase() !== 'chunked')
      return answer(response, 501, 'bodies are passed on in chunks or by their length, without further codings');
    if (asked === undefined || target === undefined) return refuse(response);
    const route = find(asked.host, target.path);
    if (route === undefined) return answer(response, 404, 'no ingress has a rule for this host and path');
    counted.ingress = route.ingress;
    const securePort = this.#options.securePort();
    if (route.isSecure && arrival.scheme === 'http' && securePort !== undefined && !this.#cameSecurely(request)) {
      const location = secureLocation(asked, target.target, securePort);
      return answer(response, 308, 'this host is served by HTTPS', { location });
    }
    const { backend } = route;
    if (backend === undefined) return answer(response, 503, 'the backend of this rule does not exist');
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort(clientGone);
    });
    const asking = this.#backendRequest(request, { arrival, asked, target: target.target, signal: gone.signal });
    const { upgrade } = arrival;
    let found: { endpoint: Endpoint; answered: BackendAnswer };
    try {
      found = await this.#ask(endpoints(backend), asking, () => invite(request, response));
    } catch (error) {
      if (!gone.signal.aborted) this.#refuse(response, error, route);
      return;
    }
    const { answered, endpoint } = found;
    endpoint.active += 1;
    const ended = () => {
      endpoint.active -= 1;
    };
    if ('switched' in answered && upgrade !== undefined) {
      answered.socket.once('close', ended);
      // From here on the connection is the tunnel's.
      this.#options.metrics.upgraded(route.ingress);
      if (!isHttp2(response)) response.detachSocket(upgrade.socket as Socket);
      request.socket.removeAllListeners('timeout');
      openTunnel({
        client: upgrade.socket,
        clientHead: upgrade.head,
        backend: answered.socket,
        backendHead: answered.head,
        switched: answered.switched,
        silenceMs: this.#options.limits.tunnelMs,
      });
    } else if ('answer' in answered) {
      answered.answer.once('close', ended);
      this.#passBack(request, response, answered.answer);
    }
  }

  #backendRequest(
    request: Request,
    about: {
      readonly arrival: Arrival;
      readonly asked: RequestHost;
      readonly target: string;
      readonly signal: AbortSignal;
    },
  ): BackendRequest {
    const { arrival, asked, signal, target } = about;
    const { headers, method = '' } = request;
    const client: Client = {
      address: addressOf(request),
      isTrusted: this.#isTrusted(request),
      host: asked.authority,
      scheme: arrival.scheme,
      port: arrival.port,
    };
    const length = headers['content-length'];
    const hasBody = arrival.upgrade === undefined && mayHaveBody(request);
    const passed = requestHeaders(headers, client);
    // How long it is: as the client said, or piece by piece.
    if (hasBody && length === undefined) passed['transfer-encoding'] = 'chunked';
    return {
      method,
      target,
      headers: passed,
      body: hasBody ? request : undefined,
      upgrade: arrival.upgrade?.protocol,
      signal,
    };
  }

  /** Rejects with a BackendFailure, or with undefined where there is no endpoint. */
  async #ask(
    endpoints: readonly Endpoint[],
    request: BackendRequest,
    invite: () => void,
  ): Promise<{ endpoint: Endpoint; answered: BackendAnswer }> {
    const { clock, limits, metrics, random } = this.#options;
    const tried = new Set<Endpoint>();
    const kept = isRepeatable(request);
    let failure: unknown;
    while (tried.size < maxTries && !request.signal.aborted) {
      const endpoint = chooseEndpoint(endpoints, { tried, now: clock.monotonic(), random });
      if (endpoint === undefined) break;
      tried.add(endpoint);
      if (tried.size > 1) metrics.retries.inc();
      const ask = (agent: Agent) => askBackend(endpoint, request, { agent, clock, limits, connected: invite });
      try {
        endpoint.active += 1;
        const answered = await (kept ? ask(this.#kept).catch((error) => this.#again(error, ask)) : ask(this.#fresh));
        endpoint.restsUntil = 0;
        return { endpoint, answered };
      } catch (error) {
        failure = error;
        if (request.signal.aborted) break;
        const kind = error instanceof BackendFailure ? error.kind : 'broken';
        metrics.failures.inc({ reason: kind });
        this.#options.log.debug({ err: error, endpoint: placeOf(endpoint) }, 'An endpoint did not answer');
        if (kind !== 'dial') break;
        endpoint.restsUntil = clock.monotonic() + restMs;
      } finally {
        endpoint.active -= 1;
      }
    }
    throw failure;
  }

  /** A kept connection that the endpoint has closed meanwhile says nothing about the endpoint. */
  #again(error: unknown, ask: (agent: Agent) => Promise<BackendAnswer>): Promise<BackendAnswer> {
    if (error instanceof BackendFailure && error.kind === 'stale') return ask(this.#fresh);
    throw error;
  }

  #refuse(response: Response, error: unknown, { backend, ingress }: Route): void {
    const { log } = this.#options;
    if (error === undefined) {
      answer(response, 503, `service ${backend?.service} has no ready endpoints`, { 'retry-after': '1' });
      return;
    }
    log.warn({ err: error, ingress, service: backend?.service }, 'A backend did not answer');
    if (error instanceof BackendFailure && error.kind === 'silent')
      answer(response, 504, 'the backend did not answer in time');
    else if (error instanceof BackendFailure) answer(response, 502, 'the backend could not be asked');
    else answer(response, 400, `the request cannot be passed on: ${messageOf(error)}`);
  }

  #passBack(request: Request, response: Response, incoming: IncomingMessage): void {
    const { clock } = this.#options;
    incoming.on('error', () => breakOff(response));
    incoming.once('close', () => {
      if (!incoming.complete) breakOff(response);
    });
    response.once('close', () => {
      if (!response.writableFinished) incoming.destroy();
    });
    const headers = answerHeaders(incoming.headers);
    const { statusCode = 502, statusMessage = '' } = incoming;
    if (isHttp2(response)) response.writeHead(statusCode, headers);
    else {
      // An answer before the request has ended: what is left of it is nobody's.
      if (!request.complete) response.shouldKeepAlive = false;
      response.writeHead(statusCode, statusMessage, headers);
      response.once('finish', () => {
        if (request.complete) return;
        request.unpipe();
        request.resume();
        clock.setTimer(() => request.socket.destroy(), lingerMs);
      });
    }
    incoming.pipe(response as NodeJS.WritableStream);
  }

  #isTrusted(request: Request): boolean {
    const address = addressOf(request);
    return this.#options.trustedProxies.some((block) => blockContains(block, address));
  }

  /** A proxy in front has taken HTTPS off. */
  #cameSecurely(request: Request): boolean {
    return request.headers['x-forwarded-proto'] === 'https' && this.#isTrusted(request);
  }
}

/** What the client means is not known, nor where its request ends for those behind. */
function refuse(response: Response): void {
  if (!isHttp2(response)) response.shouldKeepAlive = false;
  answer(response, 400, 'a request names one host, and a path');
}

/** Whoever asks first whether to send a body is told to when there is somebody to take it. */
function invite(request: Request, response: Response): void {
  if (request.headers.expect !== undefined && !response.headersSent) response.writeContinue();
}

function mayHaveBody(request: Request): boolean {
  const { headers } = request;
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  if (length !== undefined) return length !== '0';
  return 'stream' in request && !request.stream.endAfterHeaders;
}

const mapped = '::ffff:';

function addressOf(request: Request): string {
  const { remoteAddress = '' } = request.socket;
  // What comes by IPv4 to a socket of both families.
  return remoteAddress.startsWith(mapped) ? remoteAddress.slice(mapped.length) : remoteAddress;
}

function secureLocation({ host }: RequestHost, target: string, port: number): string {
  return `https://${host}${port === 443 ? '' : `:${port}`}${target}`;
}
