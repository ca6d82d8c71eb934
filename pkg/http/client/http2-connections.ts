/** HTTP/2 connections to one server, with health checks by pings. */

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { unlessAborted } from '#apimachinery/async/abort.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import {
  abortError,
  type Connections,
  type ExchangeRequest,
  type ExchangeResponse,
  UnsentError,
} from '#http/client/connections.js';
import { Http2Exchange } from '#http/client/http2-exchange.js';
import { TransportError } from '#http/client/transport-error.js';
import { Http2Session } from '#http/http2/client-session.js';
import { encodeHeaders } from '#http/http2/hpack.js';

export interface Http2ConnectionOptions {
  /** Connected, with HTTP/2 negotiated. */
  readonly socket: Socket;
  /** `https://host:port`. */
  readonly origin: string;
  readonly clock: Clock;
  /** Called once, when the connection is closed. */
  readonly onClosed: () => void;
}

/** Silence of the server before a ping, and time for its reply; client-go's values. */
const readIdleMs = 30_000;
const pingTimeoutMs = 15_000;
/** Large enough that big responses do not wait for a window every 64 KiB. */
const streamWindowBytes = 4 * 1024 * 1024;
const sessionWindowBytes = 16 * 1024 * 1024;

class Http2Connection {
  readonly #session: Http2Session;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #heads: RequestHeads;
  readonly #onClosed: () => void;
  #streams = 0;
  /** Accepts no more requests. */
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
    // A closed socket emits no event.
    if (socket.destroyed) queueMicrotask(() => this.#gone());
    this.#watch();
  }

  /** Open streams. */
  get streams(): number {
    return this.#streams;
  }

  /** Whether the connection accepts requests at all. */
  get usable(): boolean {
    return !this.#leaving && !this.#session.closed && !this.#socket.destroyed;
  }

  /** Whether the server accepts another stream now. */
  get hasRoom(): boolean {
    return this.usable && this.#streams < this.#session.maxStreams;
  }

  send(request: ExchangeRequest): Promise<ExchangeResponse> {
    return new Promise((resolve, reject) => {
      const head = this.#heads.of(request);
      request.beforeSending?.();
      if (!this.usable) {
        // The connection closed while the caller prepared the request.
        reject(new UnsentError('the connection takes no requests'));
        return;
      }
      this.#opened();
      new Http2Exchange(request, { session: this.#session, head, over: () => this.#ended(), resolve, reject });
    });
  }

  /** Accepts no more requests, and closes after the last one. */
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

  /** Only a connection with requests keeps the process alive. */
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

/** Limit of cached fields; most requests of a client share nearly all of theirs. */
const maxFields = 256;
/** Allowed in a field value: Latin-1 without control characters. */
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Encodes the header blocks of requests to one server. */
class RequestHeads {
  readonly #scheme: string;
  readonly #authority: string;
  readonly #fields = new Map<string, Buffer>();

  constructor({ host, protocol }: URL) {
    this.#scheme = protocol.slice(0, -1);
    this.#authority = host;
  }

  /** Throws TypeError for an invalid header value. */
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

export interface Http2Options {
  readonly origin: string;
  readonly clock: Clock;
  /** Dials a connection that speaks HTTP/2. */
  readonly dial: () => Promise<Socket>;
  readonly first?: Socket | undefined;
}

/** If all of these are full, requests wait on the one with the fewest streams. */
const maxConnections = 16;

export class Http2Connections implements Connections {
  readonly #options: Http2Options;
  /** All open connections, including retired ones. */
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
