/** The connection to one endpoint: opened on demand, and again after a failure with growing delays. */

import { connect as connectTcp, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { unlessAborted } from '#apimachinery/async/abort.js';
import { DeadlineTimer } from '#apimachinery/async/deadline-timer.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { withPartialTrustChain } from '#apimachinery/net/tls-trust.js';
import type { Dial } from '#http/client/dial.js';
import { GrpcError, grpcStatus } from '#http/grpc/status.js';
import { Http2Session } from '#http/http2/client-session.js';
import { encodeHeaders, type HeaderField } from '#http/http2/hpack.js';
import { callStream, callUnary, type GrpcStream, type UnaryCall } from '#storage/etcd/grpc/call.js';

export interface EndpointTls {
  /** PEM; absent: the system's authorities. */
  readonly ca?: Buffer | string | undefined;
  /** PEM of the client's certificate and key, both or none. */
  readonly cert?: Buffer | string | undefined;
  readonly key?: Buffer | string | undefined;
}

/** Called for each connection, since files may be replaced. Existing connections continue, as in 1.24. */
export type EndpointTlsSource = () => Promise<EndpointTls>;

export interface EndpointOptions {
  /** `http://127.0.0.1:2379`, `https://…` */
  readonly url: string;
  readonly tls?: EndpointTls | EndpointTlsSource | undefined;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Opens connections; absent: by TCP. */
  readonly dial?: Dial | undefined;
}

const reconnectBaseMs = 50;
const reconnectMaxMs = 1000;
/** Limit of connecting: a host that drops packets must not delay callers that could use another endpoint. */
const connectTimeoutMs = 3000;
/** Interval of pings: a dead peer is detected within 30 s + 10 s, as in 1.24. */
const keepAliveMs = 30_000;
const keepAliveTimeoutMs = 10_000;
/**
 * Delay of the answers to pings. etcd's server sends a ping with each message to measure bandwidth; immediate answers
 * would cost both sides another read and write per call. The longer round trip makes etcd allow larger windows.
 */
const pongDelayMs = 20;
/** Windows of a stream and of the connection: large enough for a page or a burst of events without a round trip. */
const streamWindowBytes = 2 ** 20;
const sessionWindowBytes = 2 ** 24;

export class GrpcEndpoint {
  readonly #options: EndpointOptions;
  readonly #url: URL;
  readonly #deadlines: DeadlineTimer;
  /** Encoded headers of each path's last call, usually equal to those of the next one. */
  readonly #heads = new Map<string, { readonly timeoutMs: number; readonly head: Buffer }>();
  #session: Http2Session | undefined;
  #connecting: Promise<Http2Session> | undefined;
  readonly #backoff: Backoff;
  /** Earliest time of the next attempt; monotonic ms. */
  #retryAtMs = 0;
  #closed = false;

  /** Throws a TypeError for other URLs than http and https. */
  constructor(options: EndpointOptions) {
    this.#url = new URL(options.url);
    const { protocol } = this.#url;
    if (protocol !== 'http:' && protocol !== 'https:') {
      throw new TypeError(`etcd endpoint ${options.url} is neither http nor https`);
    }
    this.#options = options;
    const { clock, random } = options;
    this.#backoff = new Backoff({ initialMs: reconnectBaseMs, maxMs: reconnectMaxMs, spread: 0.2, random });
    this.#deadlines = new DeadlineTimer(clock);
  }

  get url(): string {
    return this.#options.url;
  }

  /** False during the delay after a failure to connect. */
  get usable(): boolean {
    if (this.#closed) return false;
    const connected = this.#live() !== undefined || this.#connecting !== undefined;
    return connected || this.#options.clock.monotonic() >= this.#retryAtMs;
  }

  /** Rejects with GrpcErrors. */
  unary(call: UnaryCall): Promise<Buffer> {
    const live = this.#live();
    return live === undefined ? this.#unaryLater(call) : this.#unary(live, call, call.timeoutMs);
  }

  async stream(path: string, metadata: Readonly<Record<string, string>>): Promise<GrpcStream> {
    const session = this.#live() ?? (await this.#connected());
    return callStream(session, this.#head(path, Object.entries(metadata)));
  }

  /** Fails all calls. */
  close(): void {
    this.#closed = true;
    this.#session?.destroy(undefined);
    this.#session = undefined;
    this.#deadlines.close();
  }

  async #unaryLater(call: UnaryCall): Promise<Buffer> {
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    const session = await unlessAborted(this.#connected(), call.signal, cancelled);
    return this.#unary(session, call, call.timeoutMs - (clock.monotonic() - startedMs));
  }

  #unary(session: Http2Session, call: UnaryCall, leftMs: number): Promise<Buffer> {
    const timeoutMs = Math.max(1, Math.ceil(leftMs));
    const dueMs = this.#options.clock.monotonic() + timeoutMs;
    const head = this.#unaryHead(call, timeoutMs);
    return callUnary(call, { session, head, deadlines: this.#deadlines, dueMs });
  }

  #unaryHead({ path, traceparent }: UnaryCall, timeoutMs: number): Buffer {
    const timeout: HeaderField = ['grpc-timeout', `${timeoutMs}m`];
    if (traceparent !== undefined) return this.#head(path, [timeout, ['traceparent', traceparent]]);
    const cached = this.#heads.get(path);
    if (cached?.timeoutMs === timeoutMs) return cached.head;
    const head = this.#head(path, [timeout]);
    this.#heads.set(path, { timeoutMs, head });
    return head;
  }

  #head(path: string, metadata: readonly HeaderField[]): Buffer {
    const { protocol, host } = this.#url;
    return encodeHeaders([
      [':method', 'POST'],
      [':scheme', protocol.slice(0, -1)],
      [':path', path],
      [':authority', host],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ...metadata,
    ]);
  }

  /** The session for new calls. A draining session takes none, while its streams continue. */
  #live(): Http2Session | undefined {
    if (this.#session?.closed === true) this.#session = undefined;
    return this.#session;
  }

  #connected(): Promise<Http2Session> {
    if (!this.usable) {
      return Promise.reject(new GrpcError(grpcStatus.UNAVAILABLE, 'no connection to etcd', { sent: false }));
    }
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Http2Session> {
    const { tls } = this.#options;
    if (typeof tls !== 'function') return this.#connectWith(tls);
    const material = await tls().catch((error: unknown) => {
      this.#pause();
      throw this.#unreachable(error as Error);
    });
    // The endpoint was closed meanwhile.
    if (this.#closed) throw this.#unreachable(undefined);
    return this.#connectWith(material);
  }

  #pause(): void {
    this.#retryAtMs = this.#options.clock.monotonic() + this.#backoff.nextMs();
  }

  #unreachable(cause: Error | undefined): GrpcError {
    const why = cause === undefined ? '' : `: ${cause.message}`;
    const details = `no connection to etcd at ${this.#options.url}${why}`;
    return new GrpcError(grpcStatus.UNAVAILABLE, details, { sent: false, cause });
  }

  async #connectWith(tls: EndpointTls | undefined): Promise<Http2Session> {
    const { dial } = this.#options;
    return this.#open(tls, dial === undefined ? undefined : await this.#through(dial));
  }

  /** A stream through a proxy, in the time for connecting. */
  async #through(dial: Dial): Promise<Duplex> {
    const late = new AbortController();
    const timer = this.#options.clock.setTimer(() => late.abort(), connectTimeoutMs);
    const dialing = dial(this.#target);
    // A stream that comes too late has no owner.
    dialing.then(
      (stream) => late.signal.aborted && stream.destroy(),
      () => undefined,
    );
    try {
      return await unlessAborted(dialing, late.signal, () => new Error('connecting took too long'));
    } catch (error) {
      this.#pause();
      throw this.#unreachable(error as Error);
    } finally {
      timer.cancel();
    }
  }

  get #target(): { readonly host: string; readonly port: number } {
    const { hostname, port, protocol } = this.#url;
    // URLs have IPv6 addresses in brackets.
    const host = hostname.replace(/^\[|\]$/g, '');
    return { host, port: Number(port === '' ? (protocol === 'https:' ? 443 : 80) : port) };
  }

  /** `raw`: a stream to the server; undefined: opens one by TCP. */
  #open(tls: EndpointTls | undefined, raw: Duplex | undefined): Promise<Http2Session> {
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const failed = (failure: Error | undefined) => {
        patience.cancel();
        if (this.#session === undefined) this.#pause();
        // No effect if the promise is already resolved.
        reject(this.#unreachable(failure));
      };
      const socket = this.#dial({ tls, raw }, failed, () => {
        const leave = () => {
          if (this.#session === session) this.#session = undefined;
        };
        const session = new Http2Session({
          socket,
          streamWindowBytes,
          sessionWindowBytes,
          delayPong: (answer) => void clock.setTimer(answer, pongDelayMs),
          handler: {
            ready: () => {
              patience.cancel();
              if (this.#closed) return session.destroy(undefined);
              this.#backoff.reset();
              this.#session = session;
              this.#keepAlive(session, socket);
              resolve(session);
            },
            // The server will close the session: open calls complete, new ones use another connection.
            draining: leave,
            closed: (failure) => {
              leave();
              failed(failure);
            },
          },
        });
      });
      const patience = clock.setTimer(() => socket.destroy(new Error('connecting took too long')), connectTimeoutMs);
    });
  }

  /** Calls one of the functions once; after `connected`, the socket belongs to the caller. */
  #dial(
    { tls, raw }: { readonly tls: EndpointTls | undefined; readonly raw: Duplex | undefined },
    failed: (failure: Error | undefined) => void,
    connected: () => void,
  ): Duplex {
    const secure = this.#url.protocol === 'https:';
    const at = { ...this.#target, noDelay: true };
    const servername = isIP(at.host) === 0 ? { servername: at.host } : {};
    const secured = { ...withPartialTrustChain(tls ?? {}), ...at, ...servername, ALPNProtocols: ['h2'] };
    const socket = secure
      ? connectTls(raw === undefined ? secured : { ...secured, socket: raw })
      : (raw ?? connectTcp(at));
    let failure: Error | undefined;
    const onError = (error: Error) => {
      failure = error;
    };
    const onClose = () => failed(failure);
    socket.on('error', onError);
    socket.once('close', onClose);
    const begin = () => {
      if (secure && (socket as TLSSocket).alpnProtocol !== 'h2') {
        socket.destroy(new Error('the server does not speak HTTP/2'));
        return;
      }
      socket.off('error', onError);
      socket.off('close', onClose);
      connected();
    };
    if (secure || raw === undefined) socket.once(secure ? 'secureConnect' : 'connect', begin);
    else queueMicrotask(begin);
    return socket;
  }

  #keepAlive(session: Http2Session, socket: Duplex): void {
    const { clock } = this.#options;
    let timer: Timer;
    const check = () => {
      timer = clock.setTimer(() => session.destroy(new Error('the server did not answer a ping')), keepAliveTimeoutMs);
      session.ping(() => {
        timer.cancel();
        timer = clock.setTimer(check, keepAliveMs);
      });
    };
    timer = clock.setTimer(check, keepAliveMs);
    socket.once('close', () => timer.cancel());
  }
}

function cancelled(): GrpcError {
  return new GrpcError(grpcStatus.CANCELLED, 'the call was cancelled', { sent: false });
}
