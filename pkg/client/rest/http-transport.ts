/** Requests over HTTP/1.1, with TLS or without, on kept-alive connections. Streams have connections of their own. */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { TlsMaterial, TlsSource, TokenSource } from '#client/rest/credentials.js';
import type { Transport, TransportRequest, TransportResponse } from '#client/rest/transport.js';
import { TransportError, transportErrorFrom } from '#client/rest/transport-error.js';

export interface HttpTransportOptions {
  /** `https://host:port`, optionally with a path in front of all requests' paths. */
  readonly server: string;
  readonly tls?: TlsSource;
  /** Name to verify the server's certificate against, where it is not the host. */
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
  readonly token?: TokenSource;
  /** Sent with every request, such as Impersonate-User. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /**
   * How long to wait for an answer's headers and, where it is no stream, between any two parts of its body; 60 s
   * unless told, 0 for ever.
   */
  readonly timeoutMs?: number;
  readonly clock: Clock;
}

interface Agents {
  readonly material: TlsMaterial | undefined;
  readonly requests: HttpAgent;
  readonly streams: HttpAgent;
}

/** Sockets that serve ordinary requests; more requests wait for one. */
const maxSockets = 32;
const keepAliveProbeMs = 30_000;

/** Watches and followed logs run for long: they must not hold a connection that requests wait for. */
function isStream(path: string): boolean {
  return /[?&](watch|follow)=(1|true)(&|$)/.test(path);
}

export class HttpTransport implements Transport {
  readonly #options: HttpTransportOptions;
  readonly #base: URL;
  readonly #prefix: string;
  readonly #inFlight = new Set<AbortController>();
  #agents: Agents | undefined;
  #closed = false;

  /** Throws TypeError when `server` is not a URL. */
  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#base = new URL(options.server);
    if (this.#base.protocol !== 'https:' && this.#base.protocol !== 'http:') {
      throw new TypeError(`server must be an http or https URL: ${options.server}`);
    }
    this.#prefix = this.#base.pathname.replace(/\/$/, '');
  }

  /** Sends the request; once again with a fresh token when the server does not accept a rotating one. */
  async request(request: TransportRequest): Promise<TransportResponse> {
    const response = await this.#send(request);
    const { token } = this.#options;
    if (response.status !== 401 || token === undefined) return response;
    const refused = await token.token();
    token.invalidate();
    if ((await token.token()) === refused) return response;
    for await (const _ of response.body);
    return this.#send(request);
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const controller of this.#inFlight) controller.abort();
    this.#destroyAgents();
    return Promise.resolve();
  }

  async #send(request: TransportRequest): Promise<TransportResponse> {
    const target = this.#base.host;
    if (this.#closed) throw new TransportError('Closed', `the connection to ${target} is closed`);
    if (request.signal?.aborted) throw new TransportError('Aborted', `request to ${target} aborted`);
    const [agents, token] = await Promise.all([this.#currentAgents(), this.#options.token?.token()]);
    const headers: Record<string, string | string[]> = { ...this.#options.headers, ...request.headers };
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
    if (request.body !== undefined) headers['content-length'] = String(Buffer.byteLength(request.body));
    return this.#exchange(request, agents, headers);
  }

  #exchange(
    request: TransportRequest,
    agents: Agents,
    headers: Record<string, string | string[]>,
  ): Promise<TransportResponse> {
    const target = this.#base.host;
    const stream = isStream(request.path);
    const timeoutMs = this.#options.timeoutMs ?? 60_000;
    const controller = new AbortController();
    this.#inFlight.add(controller);
    const abort = () => controller.abort();
    request.signal?.addEventListener('abort', abort, { once: true });
    let timer: Timer | undefined;
    let timedOut: TransportError | undefined;
    const arm = () => {
      timer?.cancel();
      if (timeoutMs <= 0) return;
      timer = this.#options.clock.setTimer(() => {
        timedOut = new TransportError('Timeout', `no answer from ${target} within ${timeoutMs} ms`);
        controller.abort();
      }, timeoutMs);
    };
    const release = () => {
      timer?.cancel();
      this.#inFlight.delete(controller);
      request.signal?.removeEventListener('abort', abort);
    };
    const explain = (error: unknown): TransportError => {
      if (timedOut !== undefined) return timedOut;
      if (this.#closed) return new TransportError('Closed', `the connection to ${target} was closed`, { cause: error });
      if (!controller.signal.aborted) return transportErrorFrom(error, target);
      return new TransportError('Aborted', `request to ${target} aborted`, { cause: error });
    };
    return new Promise((resolve, reject) => {
      const outgoing = this.#open(request, stream ? agents.streams : agents.requests, headers, controller.signal);
      outgoing.on('error', (error) => {
        release();
        reject(explain(error));
      });
      outgoing.on('response', (incoming) => {
        // A stream may be silent for long; an answer may not.
        if (stream) timer?.cancel();
        else arm();
        resolve({
          status: incoming.statusCode ?? 0,
          headers: flatten(incoming),
          body: readBody(incoming, { onChunk: stream ? undefined : arm, explain, release }),
        });
      });
      arm();
      outgoing.end(request.body);
    });
  }

  #open(
    request: TransportRequest,
    agent: HttpAgent,
    headers: Record<string, string | string[]>,
    signal: AbortSignal,
  ): ClientRequest {
    const secure = this.#base.protocol === 'https:';
    const { hostname, port } = this.#base;
    const outgoing = (secure ? httpsRequest : httpRequest)({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (secure ? 443 : 80) : Number(port),
      method: request.method,
      path: this.#prefix + request.path,
      headers,
      agent,
      signal,
    });
    outgoing.on('socket', (socket) => socket.setKeepAlive(true, keepAliveProbeMs));
    return outgoing;
  }

  async #currentAgents(): Promise<Agents> {
    const material = await this.#options.tls?.current();
    const known = this.#agents;
    if (known !== undefined && known.material === material) return known;
    const common = { keepAlive: true, scheduling: 'lifo' as const };
    const tls = {
      ca: material?.ca,
      cert: material?.cert,
      key: material?.key,
      rejectUnauthorized: this.#options.insecureSkipVerify !== true,
      ...(this.#options.serverName === undefined ? {} : { servername: this.#options.serverName }),
    };
    const make = (sockets: number) =>
      this.#base.protocol === 'https:'
        ? new HttpsAgent({ ...common, ...tls, maxSockets: sockets })
        : new HttpAgent({ ...common, maxSockets: sockets });
    // Requests under way end on the connections they have; idle ones of the old identity are closed.
    for (const agent of [known?.requests, known?.streams]) closeIdle(agent);
    this.#agents = { material, requests: make(maxSockets), streams: make(Number.POSITIVE_INFINITY) };
    return this.#agents;
  }

  #destroyAgents(): void {
    this.#agents?.requests.destroy();
    this.#agents?.streams.destroy();
    this.#agents = undefined;
  }
}

function closeIdle(agent: HttpAgent | undefined): void {
  for (const sockets of Object.values(agent?.freeSockets ?? {})) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}

function flatten(incoming: IncomingMessage): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

interface BodyHooks {
  readonly onChunk: (() => void) | undefined;
  readonly explain: (error: unknown) => TransportError;
  readonly release: () => void;
}

/** The body; leaving it early destroys the connection, since the rest would have to be read first. */
async function* readBody(incoming: IncomingMessage, hooks: BodyHooks): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of incoming) {
      hooks.onChunk?.();
      yield chunk as Buffer;
    }
    if (!incoming.complete) throw new Error('the answer is not complete');
  } catch (error) {
    throw hooks.explain(error);
  } finally {
    incoming.destroy();
    hooks.release();
  }
}
