/** One HTTP/2 connection, with a health check by pings. */
import { unlessAborted } from '#apimachinery/async/unless-aborted.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { abortError, type Connections, type ExchangeRequest, type ExchangeResponse, UnsentError } from '#http/client/connections.js';
import { Http2Exchange } from '#http/client/http2-exchange.js';
import { TransportError } from '#http/client/transport-error.js';
import { Http2Session } from '#http/http2/client-session.js';
import { encodeHeaders } from '#http/http2/hpack.js';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

export interface Http2ConnectionOptions {
  /** Connected, with HTTP/2 agreed on. */
  readonly socket: Socket;
  /** `https://host:port`. */
  readonly origin: string;
  readonly clock: Clock;
  /** Called once when the connection is gone. */
  readonly onClosed: () => void;
}

/** A ping is sent after that long without a byte from the server, and must be answered (the figures of client-go). */
const readIdleMs = 30_000;
const pingTimeoutMs = 15_000;
/** Large answers must not stop for every 64 KiB. */
const streamWindowBytes = 4 * 1024 * 1024;
const sessionWindowBytes = 16 * 1024 * 1024;

export class Http2Connection {
  readonly #session: Http2Session;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #heads: RequestHeads;
  readonly #onClosed: () => void;
  #streams = 0;
  /** Takes no requests any more. */
  #leaving = false;
  #retired = false;
  #closed = false;
  #timer: Timer | undefined;
  #bytesRead = 0;

  constructor({ socket, origin, clock, onClosed }: Http2ConnectionOptions) {
    this.#socket = socket;
    this.#clock = clock;
    this.#onClosed = onClosed;
    this.#heads = new RequestHeads(new URL(origin));
    // RFC 9113, 9.2.1.
    if ('disableRenegotiation' in socket) (socket as TLSSocket).disableRenegotiation();
    this.#session = new Http2Session({
      socket,
      streamWindowBytes,
      sessionWindowBytes,
      handler: {
        ready: () => undefined,
        // Requests in flight continue; new ones need another connection.
        draining: () => {
          this.#leaving = true;
        },
        closed: () => this.#gone(),
      },
    });
    socket.unref();
    // A socket that has closed already emits no event.
    if (socket.destroyed) queueMicrotask(() => this.#gone());
    this.#watch();
  }

  /** Streams that are open now. */
  get streams(): number {
    return this.#streams;
  }

  /** Whether it takes requests at all. */
  get usable(): boolean {
    return !this.#leaving && !this.#session.closed && !this.#socket.destroyed;
  }

  /** Whether the server takes another stream now. */
  get hasRoom(): boolean {
    return this.usable && this.#streams < this.#session.maxStreams;
  }

  send(request: ExchangeRequest): Promise<ExchangeResponse> {
    return new Promise((resolve, reject) => {
      const head = this.#heads.of(request);
      request.beforeSending?.();
      if (!this.usable) {
        // It closed while the caller was getting ready to send.
        reject(new UnsentError('the connection takes no requests'));
        return;
      }
      this.#opened();
      new Http2Exchange(request, { session: this.#session, head, over: () => this.#ended(), resolve, reject });
    });
  }

  /** Takes no more requests and closes when those under way have ended. */
  retire(): void {
    this.#leaving = true;
    this.#retired = true;
    if (this.#streams === 0) this.destroy();
  }

  destroy(error?: Error): void {
    this.#leaving = true;
    this.#session.destroy(error);
  }

  #gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#leaving = true;
    this.#timer?.cancel();
    this.#onClosed();
  }

  /** An idle connection does not keep the process alive, one with a request does. */
  #opened(): void {
    this.#streams += 1;
    if (this.#streams === 1) this.#socket.ref();
  }

  #ended(): void {
    this.#streams -= 1;
    if (this.#streams > 0) return;
    if (this.#retired) this.destroy();
    else this.#socket.unref();
  }

  #watch(): void {
    this.#timer = this.#clock.setTimer(() => {
      if (this.#closed) return;
      const { bytesRead } = this.#socket;
      if (bytesRead !== this.#bytesRead) {
        this.#bytesRead = bytesRead;
        this.#watch();
      } else this.#ping();
    }, readIdleMs);
  }

  #ping(): void {
    this.#timer = this.#clock.setTimer(() => {
      this.destroy(new TransportError('ConnectionReset', 'the server did not answer a ping'));
    }, pingTimeoutMs);
    this.#session.ping(() => {
      this.#timer?.cancel();
      if (!this.#closed) this.#watch();
    });
  }
}

/** Fields whose bytes are kept: requests of one client have nearly all of theirs in common. */
const maxFields = 256;
/** What can stand in a field: Latin-1 without control characters. */
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The header blocks of requests to one server. */
class RequestHeads {
  readonly #scheme: string;
  readonly #authority: string;
  readonly #fields = new Map<string, Buffer>();

  constructor({ host, protocol }: URL) {
    this.#scheme = protocol.slice(0, -1);
    this.#authority = host;
  }

  /** Throws TypeError for what cannot be sent. */
  of({ headers, method, path }: Pick<ExchangeRequest, 'headers' | 'method' | 'path'>): Buffer {
    const parts = [
      this.#field(':method', method),
      this.#field(':scheme', this.#scheme),
      this.#field(':authority', this.#authority),
      encoded(':path', path),
    ];
    for (const name of Object.keys(headers)) {
      const value = headers[name];
      if (typeof value === 'string') parts.push(this.#field(name, value));
      else for (const one of value ?? []) parts.push(this.#field(name, one));
    }
    return Buffer.concat(parts);
  }

  #field(name: string, value: string): Buffer {
    const key = `${name}\0${value}`;
    const cached = this.#fields.get(key);
    if (cached !== undefined) return cached;
    const bytes = encoded(name.toLowerCase(), value);
    if (this.#fields.size >= maxFields) this.#fields.clear();
    this.#fields.set(key, bytes);
    return bytes;
  }
}

function encoded(name: string, value: string): Buffer {
  if (!sendable.test(value)) throw new TypeError(`the value of ${name} cannot be sent in a header`);
  return encodeHeaders([[name, value]]);
}

/** HTTP/2: all requests on one connection, on more when the server allows no more streams, on a new one when it broke. */

export interface Http2Options {
  readonly origin: string;
  readonly clock: Clock;
  /** A connection that speaks HTTP/2. */
  readonly dial: () => Promise<Socket>;
  readonly first?: Socket | undefined;
}

/** When all of these are full, requests wait for a stream of the emptiest. */
const maxConnections = 16;

export class Http2Connections implements Connections {
  readonly #options: Http2Options;
  /** Those that still carry something, whether or not they take more. */
  readonly #connections = new Set<Http2Connection>();
  #connecting: Promise<void> | undefined;
  #closed = false;

  constructor(options: Http2Options) {
    this.#options = options;
    if (options.first !== undefined) this.#adopt(options.first);
  }

  async send(request: ExchangeRequest): Promise<ExchangeResponse> {
    const connection = await this.#connection(request.signal);
    return connection.send(request);
  }

  retire(): void {
    this.#closed = true;
    for (const connection of this.#connections) connection.retire();
  }

  destroy(): void {
    this.#closed = true;
    for (const connection of [...this.#connections]) connection.destroy();
  }

  async #connection(signal: AbortSignal): Promise<Http2Connection> {
    for (;;) {
      if (this.#closed) throw new UnsentError('the channel takes no requests');
      const usable = [...this.#connections].filter((connection) => connection.usable);
      const free = usable.find((connection) => connection.hasRoom);
      if (free !== undefined) return free;
      if (usable.length >= maxConnections) {
        return usable.reduce((least, connection) => (connection.streams < least.streams ? connection : least));
      }
      this.#connecting ??= this.#connect().finally(() => {
        this.#connecting = undefined;
      });
      await unlessAborted(this.#connecting, signal, abortError);
    }
  }

  async #connect(): Promise<void> {
    const socket = await this.#options.dial();
    if (this.#closed) {
      socket.destroy();
      throw new TransportError('Closed', 'the connection is closed');
    }
    this.#adopt(socket);
  }

  #adopt(socket: Socket): void {
    const { origin, clock } = this.#options;
    const connection: Http2Connection = new Http2Connection({
      socket,
      origin,
      clock,
      onClosed: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
  }
}
