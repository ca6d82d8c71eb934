/** The connection to one endpoint: made when it is needed, made anew after growing pauses when it fails. */
import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from 'node:http2';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { callStream, callUnary, type GrpcStream, type UnaryCall } from '#storage/etcd/grpc/call.js';
import { GrpcError, grpcStatus } from '#storage/etcd/grpc/status.js';

export interface EndpointTls {
  /** PEM. Absent: the system's authorities. */
  readonly ca?: Buffer;
  /** PEM of the client's certificate and key, both or none. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface EndpointOptions {
  /** `http://127.0.0.1:2379`, `https://…` */
  readonly url: string;
  readonly tls?: EndpointTls | undefined;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

const reconnectBaseMs = 50;
const reconnectMaxMs = 1000;
/** A machine that swallows packets must not hold up those who could ask another one. */
const connectTimeoutMs = 3000;
/** A dead peer is noticed within 30 s + 10 s, as by 1.24's client. */
const keepAliveMs = 30_000;
const keepAliveTimeoutMs = 10_000;
/** Of one stream and of all together: a page, or a burst of events, needs no round trip for more room. */
const streamWindowBytes = 2 ** 20;
const sessionWindowBytes = 2 ** 24;

export class GrpcEndpoint {
  readonly #options: EndpointOptions;
  readonly #tls: SecureClientSessionOptions;
  #session: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;
  #failures = 0;
  /** Not before; ms of the monotonic clock. */
  #retryAtMs = 0;
  #closed = false;

  /** Throws a TypeError for a URL that is neither http nor https. */
  constructor(options: EndpointOptions) {
    const { protocol } = new URL(options.url);
    if (protocol !== 'http:' && protocol !== 'https:') {
      throw new TypeError(`etcd endpoint ${options.url} is neither http nor https`);
    }
    this.#options = options;
    this.#tls = protocol === 'https:' ? { ...options.tls } : {};
  }

  get url(): string {
    return this.#options.url;
  }

  /** False in the pause after a failure to connect. */
  get usable(): boolean {
    if (this.#closed) return false;
    const connected = this.#live() !== undefined || this.#connecting !== undefined;
    return connected || this.#options.clock.monotonic() >= this.#retryAtMs;
  }

  /** Rejects with GrpcErrors. */
  async unary(call: UnaryCall): Promise<Buffer> {
    const { clock } = this.#options;
    const live = this.#live();
    if (live !== undefined) return callUnary(live, call, clock);
    const startedMs = clock.monotonic();
    const session = await orAborted(this.#connected(), call.signal);
    return callUnary(session, { ...call, timeoutMs: call.timeoutMs - (clock.monotonic() - startedMs) }, clock);
  }

  async stream(path: string, metadata: Readonly<Record<string, string>>): Promise<GrpcStream> {
    return callStream(this.#live() ?? (await this.#connected()), path, metadata);
  }

  /** Calls that are under way fail. */
  close(): void {
    this.#closed = true;
    this.#session?.destroy();
    this.#session = undefined;
  }

  /** The session that takes calls. One that ends takes none, though its `close` event waits for all its streams. */
  #live(): ClientHttp2Session | undefined {
    if (this.#session?.closed === true || this.#session?.destroyed === true) this.#session = undefined;
    return this.#session;
  }

  #connected(): Promise<ClientHttp2Session> {
    if (!this.usable) {
      return Promise.reject(new GrpcError(grpcStatus.UNAVAILABLE, 'no connection to etcd', { sent: false }));
    }
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  #connect(): Promise<ClientHttp2Session> {
    const { url, clock, random } = this.#options;
    return new Promise((resolve, reject) => {
      const session = connect(url, {
        ...this.#tls,
        settings: { enablePush: false, initialWindowSize: streamWindowBytes },
        // The limit of calls is set where they come from, not by memory that the session believes to use.
        maxSessionMemory: Number.MAX_SAFE_INTEGER,
      });
      let failure: Error | undefined;
      const patience = clock.setTimer(() => session.destroy(new Error('connecting took too long')), connectTimeoutMs);
      session.on('error', (error) => {
        failure = error;
      });
      session.once('connect', () => {
        patience.cancel();
        // The server's farewell may have come with its greeting, before there was a session to leave.
        if (this.#closed || session.closed || session.destroyed) return session.destroy();
        session.setLocalWindowSize(sessionWindowBytes);
        this.#failures = 0;
        this.#session = session;
        this.#keepAlive(session);
        resolve(session);
      });
      const leave = () => {
        if (this.#session === session) this.#session = undefined;
      };
      // The server is about to end it: calls under way complete, new ones take another connection.
      session.once('goaway', leave);
      session.once('close', () => {
        patience.cancel();
        leave();
        if (this.#session === undefined) {
          const pauseMs = Math.min(reconnectMaxMs, reconnectBaseMs * 2 ** this.#failures++);
          this.#retryAtMs = clock.monotonic() + pauseMs * (0.8 + 0.4 * random());
        }
        const why = failure === undefined ? '' : `: ${failure.message}`;
        const details = `no connection to etcd at ${url}${why}`;
        // Without effect when it had been connected.
        reject(new GrpcError(grpcStatus.UNAVAILABLE, details, { sent: false, cause: failure }));
      });
    });
  }

  #keepAlive(session: ClientHttp2Session): void {
    const { clock } = this.#options;
    let timer: Timer;
    const check = () => {
      if (session.destroyed) return;
      timer = clock.setTimer(() => session.destroy(new Error('the server did not answer a ping')), keepAliveTimeoutMs);
      session.ping((error) => {
        timer.cancel();
        if (error === null && !session.destroyed) timer = clock.setTimer(check, keepAliveMs);
      });
    };
    timer = clock.setTimer(check, keepAliveMs);
    session.once('close', () => timer.cancel());
  }
}

/** What `promise` gives, or a cancellation when the signal aborts before. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(new GrpcError(grpcStatus.CANCELLED, 'the call was cancelled', { sent: false }));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
