/** A request over HTTP/1.1 on Node.js's server, and its response. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { LazyAbort } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Bodies } from '#http/server/bodies.js';
import type { Exchange, ExchangeListener, Peer, StreamedBody } from '#http/server/exchange.js';
import { ServerRequest, type ServerShares } from '#http/server/server-request.js';

const nothing = Buffer.alloc(0);
const lineEnd = '\r\n';
/**
 * Parts are sent in chunks of one TLS record each, one at a time. Node.js would encrypt everything immediately, however
 * slow the client, and keep the memory.
 */
const recordBytes = 16 * 1024;
/** Larger parts do not come from watches, and are left to Node.js. */
const mostShared = 64 * 1024;
const mostInChunk = recordBytes - `${recordBytes.toString(16)}${lineEnd}${lineEnd}`.length;

/** Encodes parts as chunks. Watches share the same parts, which are encoded once. */
export class Chunks {
  readonly #chunks = new WeakMap<Buffer, readonly Buffer[]>();

  of(bytes: Buffer): readonly Buffer[] {
    let chunks = this.#chunks.get(bytes);
    if (chunks === undefined) {
      chunks = Array.from({ length: Math.ceil(bytes.length / mostInChunk) }, (_, i) =>
        chunkOf(bytes.subarray(i * mostInChunk, (i + 1) * mostInChunk)),
      );
      this.#chunks.set(bytes, chunks);
    }
    return chunks;
  }
}

function chunkOf(bytes: Buffer): Buffer {
  const head = `${bytes.length.toString(16)}${lineEnd}`;
  const chunk = Buffer.allocUnsafe(head.length + bytes.length + lineEnd.length);
  chunk.write(head, 0, 'latin1');
  bytes.copy(chunk, head.length);
  chunk.write(lineEnd, head.length + bytes.length, 'latin1');
  return chunk;
}

export interface Http1ExchangeOptions {
  readonly clock: Clock;
  readonly peer: Peer;
  /** Shared by all connections. */
  readonly chunks: Chunks;
  readonly shares: ServerShares;
  readonly bodies: Bodies;
  readonly maxBodyBytes: number;
  /** Time for a client to read a response that was sent before its body had ended. */
  readonly lingerMs: number;
  /** Called when the exchange ends, for whatever reason. */
  readonly closed: () => void;
}

/** Limit of discarded bytes of a refused body, as a multiple of the largest body. */
const lingerBodies = 10;

export class Http1Exchange implements Exchange {
  readonly request: ServerRequest;
  readonly gone = new LazyAbort();
  listener: ExchangeListener | undefined;
  /** Node.js copies each chunked part. */
  readonly needsLength = true;
  /** The connection closes after this response. */
  closes = false;
  readonly #raw: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: Http1ExchangeOptions;
  /** The client waits for 100 Continue. */
  #asks: boolean;
  /** Emitter of the `drain` event. */
  #source: EventEmitter | undefined;
  /** Chunks of the current part that are not written yet. */
  #rest: Buffer[] = [];

  /** `asks`: the client waits for 100 Continue. */
  constructor(raw: IncomingMessage, response: ServerResponse, asks: boolean, options: Http1ExchangeOptions) {
    this.#raw = raw;
    this.#response = response;
    this.#asks = asks;
    this.#options = options;
    const hasBody = bodyFollows(raw);
    this.request = new ServerRequest({
      method: raw.method ?? 'GET',
      url: raw.url ?? '/',
      // Node.js lower-cases and joins headers; only responses have header lists.
      headers: raw.headers as Record<string, string | undefined>,
      rawHeaders: raw.rawHeaders,
      peer: options.peer,
      gone: this.gone,
      shares: options.shares,
      readBody: hasBody ? () => this.#readBody() : undefined,
      openBody: hasBody ? () => this.#openBody() : undefined,
    });
    response.once('close', this.#over);
  }

  get destroyed(): boolean {
    return this.#response.destroyed;
  }

  get headersSent(): boolean {
    return this.#response.headersSent;
  }

  answered(): void {
    // A client that still waits may send its body or not, so the next bytes are ambiguous.
    if (this.#asks) this.closes = true;
  }

  head(status: number, headers: Readonly<Record<string, string>>, cookies?: readonly string[]): void {
    const response = this.#response;
    if (cookies !== undefined) response.setHeader('set-cookie', cookies);
    if (this.closes) response.setHeader('connection', 'close');
    response.writeHead(status, headers);
  }

  flush(): void {
    this.#response.flushHeaders();
  }

  write(bytes: Buffer, left?: () => void): boolean {
    const response = this.#response;
    const { socket } = response;
    this.#writeRest();
    // Node.js would write size, part and line end separately.
    if (left === undefined && response.chunkedEncoding && socket !== null && bytes.length <= mostShared) {
      this.#rest = [...this.#options.chunks.of(bytes)];
      return this.#writeOn(socket);
    }
    const room = response.write(bytes, left);
    if (!room && left === undefined) this.#wait(response);
    return room;
  }

  end(bytes?: Buffer, left?: () => void): void {
    this.#writeRest();
    this.#response.end(bytes, left);
  }

  destroy(): void {
    this.#response.destroy();
  }

  /** Writes chunks until one has to wait; false then. */
  #writeOn(socket: Socket): boolean {
    for (let next = this.#rest.shift(); next !== undefined; next = this.#rest.shift()) {
      if (socket.write(next)) continue;
      this.#wait(socket);
      return false;
    }
    return true;
  }

  /** Writes the remaining chunks without waiting. */
  #writeRest(): void {
    const rest = this.#rest;
    if (rest.length === 0) return;
    this.#rest = [];
    for (const chunk of rest) this.#response.socket?.write(chunk);
  }

  #wait(source: EventEmitter): void {
    this.#source = source;
    source.once('drain', this.#drained);
  }

  readonly #drained = (): void => {
    const { socket } = this.#response;
    if (socket === null || this.#writeOn(socket)) this.listener?.drained();
  };

  readonly #over = (): void => {
    this.#source?.off('drain', this.#drained);
    this.request.release();
    this.listener?.closed();
    this.#options.closed();
  };

  /** Sends 100 Continue to a waiting client. */
  #goOn(): void {
    if (!this.#asks) return;
    this.#asks = false;
    this.#response.writeContinue();
  }

  get #lingering(): LingerOptions {
    const { clock, maxBodyBytes, lingerMs } = this.#options;
    return { clock, bytes: lingerBodies * maxBodyBytes, ms: lingerMs };
  }

  /** The body as a stream. What its reader leaves unread blocks the next request on the connection. */
  #openBody(): StreamedBody {
    this.#goOn();
    const raw = this.#raw;
    const length = raw.headers['content-length'];
    let left = false;
    const leave = () => {
      if (left || raw.destroyed) return;
      left = true;
      if (raw.complete) {
        // Node.js reads nothing more from the connection while this waits.
        raw.resume();
        return;
      }
      this.closes = true;
      drainAbandoned(raw, this.#lingering);
    };
    return { source: raw, length: length === undefined ? undefined : Number(length), leave };
  }

  async #readBody(): Promise<Buffer> {
    const raw = this.#raw;
    const announced = raw.headers['content-length'];
    const { maxBodyBytes, bodies } = this.#options;
    const length = Number(announced ?? 0);
    if (length <= maxBodyBytes) this.#goOn();
    if (announced === undefined && (raw.method === 'GET' || raw.method === 'HEAD')) return nothing;
    return bodies.read({ source: raw, length }, this.request, () => {
      // The rest of the body is not needed, but the client must read the response.
      this.closes = true;
      lingerAfterAnswer(raw, this.#lingering);
    });
  }
}

/** Whether a body may follow. */
function bodyFollows({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return true;
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

interface LingerOptions {
  readonly clock: Clock;
  /** Limit of discarded body bytes. */
  readonly bytes: number;
  /** Time for the client to read the response and stop sending. */
  readonly ms: number;
}

/**
 * Lets a client of HTTP/1.1 read a response that is sent before the request's body has ended. The connection closes
 * after it, but closing with unread bytes resets it, and the client loses the response (RFC 9112, section 9.6). So the
 * rest of the body is discarded for a while before the connection closes. Call it before writing the response.
 */
function lingerAfterAnswer(request: IncomingMessage, { clock, bytes, ms }: LingerOptions): void {
  const socket = request.socket as TLSSocket;
  const enough = socket.bytesRead + bytes;
  request.removeAllListeners('data');
  request.on('data', () => {
    if (socket.bytesRead > enough) socket.destroy();
  });
  request.resume();
  // Node.js calls this after a response if the connection is not kept.
  socket.destroySoon = () => {
    const timer = clock.setTimer(() => socket.destroy(), ms);
    socket.once('close', () => timer.cancel());
    if (request.complete) socket.end(() => socket.destroy());
    else {
      request.once('end', () => socket.destroy());
      // Half-close: the client gets the response, and nothing more.
      socket.end();
    }
  };
}

/**
 * The same for a body that was partly forwarded. Its response may already promise to keep the connection, which stays
 * if the rest arrives soon.
 */
function drainAbandoned(request: IncomingMessage, options: LingerOptions): void {
  const { socket } = request;
  lingerAfterAnswer(request, options);
  const timer = options.clock.setTimer(() => {
    if (!request.complete) socket.destroy();
  }, options.ms);
  socket.once('close', () => timer.cancel());
  request.once('end', () => timer.cancel());
}
