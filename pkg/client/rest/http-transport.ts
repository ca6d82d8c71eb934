/**
 * Sends requests over the network with a user's credentials, over HTTP/2 if the server supports it. Rotated credentials
 * are used from the next request on, or when the server refuses the old ones.
 */
import { unlessAborted } from '#apimachinery/async/abort.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Transport, TransportRequest, TransportResponse } from '#client/rest/transport.js';
import { isCompressed, readBody } from '#http/client/body.js';
import { type ExchangeResponse, UnsentError } from '#http/client/connections.js';
import type { TlsMaterial, TlsSource, TokenSource } from '#http/client/credentials.js';
import type { Dial } from '#http/client/dial.js';
import { NegotiatedConnections } from '#http/client/negotiated-connections.js';
import { TransportError, transportErrorFrom } from '#http/client/transport-error.js';

export interface HttpTransportOptions {
  /** `https://host:port`, optionally with a path prefix. */
  readonly server: string;
  readonly tls?: TlsSource;
  /** Name for verifying the server's certificate, if it differs from the host. */
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
  readonly token?: TokenSource;
  /** Sent with every request, such as Impersonate-User. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Proxy of every connection: http, https or socks5. */
  readonly proxy?: URL;
  /** Whether large responses may be compressed; default: true. */
  readonly compression?: boolean;
  /**
   * Time limit for the response headers and, unless it is a stream, between two parts of the body; default: 60 s, 0: no
   * limit.
   */
  readonly timeoutMs?: number;
  readonly clock: Clock;
  /** Opens connections; absent: by TCP. */
  readonly dial?: Dial | undefined;
}

/** The credentials of a request. */
interface Identity {
  readonly material: TlsMaterial | undefined;
  readonly token: string | undefined;
}

/** Watches and followed logs are long-lived and must not occupy a connection that other requests need. */
function isStream(path: string): boolean {
  return /[?&](watch|follow)=(1|true)(&|$)/.test(path);
}

export class HttpTransport implements Transport {
  readonly #options: HttpTransportOptions;
  readonly #base: URL;
  readonly #prefix: string;
  readonly #inFlight = new Set<AbortController>();
  #channel: { readonly material: TlsMaterial | undefined; readonly channel: NegotiatedConnections } | undefined;
  #closed = false;

  /** Throws TypeError if `server` is not a URL. */
  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#base = new URL(options.server);
    if (this.#base.protocol !== 'https:' && this.#base.protocol !== 'http:') {
      throw new TypeError(`server must be an http or https URL: ${options.server}`);
    }
    this.#prefix = this.#base.pathname.replace(/\/$/, '');
  }

  /** Sends the request; retries once with fresh credentials if the server refuses rotating ones. */
  async request(request: TransportRequest): Promise<TransportResponse> {
    const used = await this.#identity(request);
    const response = await this.#send(request, used);
    if (response.status !== 401) return response;
    const fresh = await this.#freshIdentity(request, used);
    if (fresh === undefined) return response;
    for await (const _ of response.body);
    return this.#send(request, fresh);
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const controller of this.#inFlight) controller.abort();
    this.#channel?.channel.destroy();
    this.#channel = undefined;
    return Promise.resolve();
  }

  /**
   * Aborts requests in flight and drops every connection. Otherwise a server that was cut off would still receive them
   * when it becomes reachable. Later requests use new connections.
   */
  reset(): void {
    for (const controller of this.#inFlight) controller.abort();
    this.#channel?.channel.reset();
    this.#channel = undefined;
  }

  async #identity(request: TransportRequest): Promise<Identity> {
    this.#check(request);
    const { token, tls } = this.#options;
    // A credential plugin may ask the user, who may take long.
    const credentials = unlessAborted(
      Promise.all([tls?.current(), token?.token()]),
      request.signal,
      () => new TransportError('Aborted', `request to ${this.#base.host} aborted`),
    );
    const [material, bearer] = await credentials;
    return { material, token: bearer === '' ? undefined : bearer };
  }

  /** Credentials that differ from the refused ones; undefined if there are none. */
  async #freshIdentity(request: TransportRequest, refused: Identity): Promise<Identity | undefined> {
    const { token, tls } = this.#options;
    const differs = (now: Identity) => now.token !== refused.token || now.material !== refused.material;
    try {
      // Another request may have fetched new credentials already.
      const current = await this.#identity(request);
      if (differs(current)) return current;
      token?.invalidate();
      tls?.invalidate?.();
      const fresh = await this.#identity(request);
      return differs(fresh) ? fresh : undefined;
    } catch {
      // The caller reports the server's 401, which says more than this error.
      return undefined;
    }
  }

  #check(request: TransportRequest): void {
    const target = this.#base.host;
    if (this.#closed) throw new TransportError('Closed', `the connection to ${target} is closed`);
    if (request.signal?.aborted) throw new TransportError('Aborted', `request to ${target} aborted`);
  }

  async #send(request: TransportRequest, identity: Identity): Promise<TransportResponse> {
    // Fetching the credentials may have taken long.
    this.#check(request);
    const headers: Record<string, string | string[]> = { ...this.#options.headers, ...request.headers };
    if (identity.token !== undefined) headers['authorization'] = `Bearer ${identity.token}`;
    if (this.#options.compression !== false && !isStream(request.path)) headers['accept-encoding'] ??= 'gzip';
    const exchange = new Exchange({
      target: this.#base.host,
      stream: isStream(request.path),
      timeoutMs: this.#options.timeoutMs ?? 60_000,
      clock: this.#options.clock,
      isClosed: () => this.#closed,
    });
    this.#inFlight.add(exchange.controller);
    const abort = () => exchange.controller.abort();
    request.signal?.addEventListener('abort', abort, { once: true });
    const release = () => {
      exchange.disarmTimeout();
      this.#inFlight.delete(exchange.controller);
      request.signal?.removeEventListener('abort', abort);
    };
    const channel = this.#channelFor(identity.material);
    try {
      exchange.armTimeout();
      const response = await channel.send({
        method: request.method,
        path: this.#prefix + request.path,
        headers,
        body: request.body,
        stream: exchange.stream,
        signal: exchange.controller.signal,
        beforeSending: request.beforeSending,
      });
      return this.#answer(response, exchange, release);
    } catch (error) {
      release();
      // Credentials were renewed while the request waited for a connection with the old ones.
      const overtaken = error instanceof UnsentError && !this.#closed && channel !== this.#channel?.channel;
      if (overtaken) return this.#send(request, await this.#identity(request));
      throw exchange.explain(error);
    }
  }

  #answer(response: ExchangeResponse, exchange: Exchange, release: () => void): TransportResponse {
    // A stream may be silent for long; other responses may not.
    if (exchange.stream) exchange.disarmTimeout();
    else exchange.armTimeout();
    const { 'content-encoding': encoding, ...plain } = response.headers;
    return {
      status: response.status,
      headers: isCompressed(response) || encoding === undefined ? plain : response.headers,
      body: readBody(response, {
        onChunk: exchange.stream ? undefined : () => exchange.armTimeout(),
        explain: (error) => exchange.explain(error),
        release,
      }),
    };
  }

  #channelFor(material: TlsMaterial | undefined): NegotiatedConnections {
    const previous = this.#channel;
    if (previous !== undefined && previous.material === material) return previous.channel;
    const { serverName, insecureSkipVerify, proxy, clock, dial } = this.#options;
    const options = { server: this.#base, serverName, insecureSkipVerify, proxy, clock, dial };
    const channel = new NegotiatedConnections(options, material);
    // Requests in flight finish on the connections of the old identity.
    previous?.channel.retire();
    this.#channel = { material, channel };
    return channel;
  }
}

/** One request in flight: its timeout, and the meaning of a failure. */
class Exchange {
  readonly controller = new AbortController();
  readonly stream: boolean;
  readonly #options: {
    readonly target: string;
    readonly stream: boolean;
    readonly timeoutMs: number;
    readonly clock: Clock;
    readonly isClosed: () => boolean;
  };
  #timer: Timer | undefined;
  #timedOut: TransportError | undefined;

  constructor(options: {
    readonly target: string;
    readonly stream: boolean;
    readonly timeoutMs: number;
    readonly clock: Clock;
    readonly isClosed: () => boolean;
  }) {
    this.#options = options;
    this.stream = options.stream;
  }

  /** Starts or restarts the timeout. */
  armTimeout(): void {
    const { target, timeoutMs, clock } = this.#options;
    this.#timer?.cancel();
    if (timeoutMs <= 0) return;
    this.#timer = clock.setTimer(() => {
      this.#timedOut = new TransportError('Timeout', `no response from ${target} within ${timeoutMs} ms`);
      this.controller.abort();
    }, timeoutMs);
  }

  /** Stops the timeout. */
  disarmTimeout(): void {
    this.#timer?.cancel();
  }

  explain(error: unknown): TransportError {
    const { target, isClosed } = this.#options;
    if (this.#timedOut !== undefined) return this.#timedOut;
    if (isClosed()) return new TransportError('Closed', `the connection to ${target} was closed`, { cause: error });
    if (!this.controller.signal.aborted) return transportErrorFrom(error, target);
    return new TransportError('Aborted', `request to ${target} aborted`, { cause: error });
  }
}
