/**
 * Sends requests to the endpoints of a service. A request is sent only over an open connection, so that another
 * endpoint can be tried if none opens. It is repeated only if it is idempotent and a kept connection had been closed.
 */
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { Agent, Client, type Dispatcher, errors } from 'undici';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { repeatableMethods } from '#daemon/streaming/forwarding.js';
import { askUpgrade, maxInterim, tooManyInterim, type UpgradeAnswer } from '#daemon/streaming/tunnel.js';
import { chooseEndpoint, type Endpoint, placeOf } from '#ingress/endpoints/endpoints.js';
import type { IngressLimits } from '#ingress/http/limits.js';
import type { IngressMetrics } from '#ingress/metrics/ingress-metrics.js';

export interface BackendsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly limits: Pick<IngressLimits, 'dialMs' | 'backendMs' | 'maxHeaderBytes'>;
  readonly metrics: Pick<IngressMetrics, 'retries' | 'failures'>;
}

export interface BackendRequest {
  readonly endpoints: readonly Endpoint[];
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Absent if empty. */
  readonly body?: Readable | undefined;
  /** Called when a connection is open, before a body is sent. */
  readonly connected: () => void;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** No response. */
export class BackendFailure extends Error {
  /**
   * `dial`: no connection, nothing was sent. `stale`: a kept connection was closed before any response. `silent`: no
   * response in time. `broken`: everything else.
   */
  readonly kind: 'dial' | 'stale' | 'silent' | 'broken';

  constructor(kind: BackendFailure['kind'], cause: unknown) {
    super(messageOf(cause), { cause });
    this.kind = kind;
  }
}

/** The parser takes any three digits, but servers send no higher status. */
const highestStatus = 599;
/** Endpoints tried per request. */
const maxTries = 3;
/** How long an endpoint is avoided after a failed connection. */
const restMs = 5000;

type Answer = Dispatcher.ResponseData<unknown>;

export class Backends {
  readonly #options: BackendsOptions;
  readonly #settings;
  /** Keeps connections for reuse. */
  readonly #agent: Agent;
  /** Errors of connections that had served requests before. */
  readonly #late = new WeakSet<Error>();

  constructor(options: BackendsOptions) {
    this.#options = options;
    const { backendMs, maxHeaderBytes } = options.limits;
    this.#settings = { headersTimeout: backendMs, bodyTimeout: backendMs, maxHeaderSize: maxHeaderBytes };
    this.#agent = new Agent({
      ...this.#settings,
      keepAliveTimeout: backendMs,
      connect: ({ hostname, port }, done) => {
        const connected = (socket: Socket) => {
          socket.on('error', (error) => socket.bytesRead > 0 && this.#late.add(error));
          done(null, socket);
        };
        this.#dial({ address: hostname, port: Number(port || 80) }).then(connected, (error: Error) =>
          done(error, null),
        );
      },
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** The head of the response. Rejects with a BackendFailure, or with undefined without an endpoint. */
  ask(request: BackendRequest): Promise<Answer> {
    const { body, method } = request;
    // A body can be sent only once, so it needs a new connection.
    const isKept = body === undefined && repeatableMethods.has(method);
    return this.#try(request, async (endpoint) => {
      const answer = await (isKept ? this.#askKept(endpoint, request) : this.#askOnce(endpoint, request));
      return { answer, during: answer.body };
    });
  }

  /** The same for an upgrade request. */
  askUpgrade(request: BackendRequest, protocol: string): Promise<UpgradeAnswer> {
    const { backendMs, maxHeaderBytes } = this.#options.limits;
    const { headers, method, signal, target: path } = request;
    return this.#try<UpgradeAnswer>(request, async (endpoint) => {
      const socket = await this.#dial(endpoint);
      const outgoing = httpRequest({
        ...{ method, path, signal, setHost: false, maxHeaderSize: maxHeaderBytes },
        headers: { ...headers, connection: 'Upgrade', upgrade: protocol },
        createConnection: () => socket,
      });
      let kind: BackendFailure['kind'] = 'broken';
      outgoing.once('timeout', () => {
        kind = 'silent';
      });
      try {
        const answer = await askUpgrade(outgoing, backendMs);
        return { answer, during: 'switched' in answer ? answer.backend : answer.refusal };
      } catch (error) {
        throw new BackendFailure(kind, error);
      }
    });
  }

  async #try<T>(
    { endpoints, signal }: BackendRequest,
    ask: (endpoint: Endpoint) => Promise<{ readonly answer: T; readonly during: Readable | Duplex }>,
  ): Promise<T> {
    const { clock, log, metrics, random } = this.#options;
    const tried = new Set<Endpoint>();
    let failure: unknown;
    while (tried.size < maxTries && !signal.aborted) {
      const endpoint = chooseEndpoint(endpoints, { tried, now: clock.monotonic(), random });
      if (endpoint === undefined) break;
      tried.add(endpoint);
      if (tried.size > 1) metrics.retries.inc();
      endpoint.active += 1;
      const ended = () => {
        endpoint.active -= 1;
      };
      try {
        const { answer, during } = await ask(endpoint);
        endpoint.restsUntil = 0;
        during.once('close', ended);
        return answer;
      } catch (error) {
        ended();
        failure = error;
        if (signal.aborted) break;
        const kind = error instanceof BackendFailure ? error.kind : 'broken';
        metrics.failures.inc({ reason: kind });
        log.debug({ err: error, endpoint: placeOf(endpoint) }, 'endpoint did not respond');
        if (kind !== 'dial') break;
        endpoint.restsUntil = clock.monotonic() + restMs;
      }
    }
    throw failure;
  }

  /** A kept connection that the endpoint has closed does not mean that the endpoint fails. */
  async #askKept(endpoint: Endpoint, request: BackendRequest): Promise<Answer> {
    try {
      return await this.#send(this.#agent, endpoint, request);
    } catch (error) {
      if (error instanceof BackendFailure && error.kind === 'stale') return this.#askOnce(endpoint, request);
      throw error;
    }
  }

  /** Uses a connection for this request only. */
  async #askOnce(endpoint: Endpoint, request: BackendRequest): Promise<Answer> {
    const socket = await this.#dial(endpoint);
    if (request.signal.aborted) socket.destroy();
    else request.connected();
    let isGiven = false;
    const client = new Client(originOf(endpoint), {
      ...this.#settings,
      // The client looks for requests after calling this. It asks again while a request waits, and would go on for ever
      // if it got a closed connection each time.
      connect: (_, done) =>
        queueMicrotask(() => {
          if (socket.destroyed || isGiven) done(new Error('the connection is closed'), null);
          else done(null, socket);
          isGiven = true;
        }),
    });
    try {
      return await this.#send(client, endpoint, request);
    } finally {
      // Takes effect when the response has ended.
      void client.close();
    }
  }

  async #send(dispatcher: Dispatcher, endpoint: Endpoint, request: BackendRequest): Promise<Answer> {
    const { body, headers, method, signal, target: path } = request;
    let interim = 0;
    try {
      const answer = await dispatcher.request({
        ...{ origin: originOf(endpoint), path, headers, signal },
        method: method as Dispatcher.HttpMethod,
        // Keep the client's body: it must still get a response if the backend fails.
        body: (body?.iterator({ destroyOnReturn: false }) as Readable | undefined) ?? null,
        reset: dispatcher !== this.#agent,
        // Each restarts the time limit of the response.
        onInfo: () => {
          interim += 1;
          if (interim > maxInterim) throw new BackendFailure('broken', new Error(tooManyInterim));
        },
      });
      if (answer.statusCode <= highestStatus) return answer;
      answer.body.on('error', () => undefined).destroy();
      throw new BackendFailure('broken', new Error(`status ${answer.statusCode}`));
    } catch (error) {
      throw error instanceof BackendFailure ? error : new BackendFailure(this.#kindOf(error), error);
    }
  }

  #kindOf(error: unknown): BackendFailure['kind'] {
    if (error instanceof errors.HeadersTimeoutError) return 'silent';
    const isLate =
      error instanceof errors.SocketError
        ? (error.socket?.bytesRead ?? 0) > 0
        : error instanceof Error && this.#late.has(error);
    return isLate ? 'stale' : 'broken';
  }

  /** Rejects with a BackendFailure. */
  #dial({ address: host, port }: Pick<Endpoint, 'address' | 'port'>): Promise<Socket> {
    const { clock, limits } = this.#options;
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true });
      const failed = (error: Error) => reject(new BackendFailure('dial', error));
      const timer = clock.setTimer(
        () => socket.destroy(new Error(`no connection in ${limits.dialMs / 1000} s`)),
        limits.dialMs,
      );
      socket.once('close', () => timer.cancel());
      socket.once('error', failed);
      socket.once('connect', () => {
        timer.cancel();
        socket.off('error', failed);
        resolve(socket);
      });
    });
  }
}

function originOf(endpoint: Endpoint): string {
  return `http://${placeOf(endpoint)}`;
}
