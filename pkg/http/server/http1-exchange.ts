/** One request over HTTP/1.1, by Node.js's server, and where its answer goes. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { LazyAbort } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import {
  type Exchange,
  type ExchangeListener,
  type Peer,
  readBody,
  ServerRequest,
  type StreamedBody,
} from '#http/server/exchange.js';

const nothing = Buffer.alloc(0);
const lineEnd = '\r\n';
/**
 * Parts are sent as chunks of up to so many bytes, one after the other has left: each is a TLS record. Node.js encrypts all
 * that it is given at once, however slowly the client takes it, and keeps the memory.
 */
const recordBytes = 16 * 1024;
/** Larger parts are no watch's, and are left to Node.js. */
const mostShared = 64 * 1024;
const mostInChunk = recordBytes - `${recordBytes.toString(16)}${lineEnd}${lineEnd}`.length;

/** Parts of bodies as chunks. What watches send is the same for many of them, and is made into chunks once. */
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
  readonly maxBodyBytes: number;
  /** For a client to take an answer that came before its body had ended. */
  readonly lingerMs: number;
  /** Told when the answer is over, for whatever reason. */
  readonly closed: () => void;
}

/** Bytes of a refused body that are read for the sake of the answer, in terms of the largest body. */
const lingerBodies = 10;

export class Http1Exchange implements Exchange {
  readonly request: ServerRequest;
  readonly gone = new LazyAbort();
  listener: ExchangeListener | undefined;
  /** Node.js copies each part of a body in chunks. */
  readonly needsLength = true;
  /** The connection ends with this answer. */
  closes = false;
  readonly #raw: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: Http1ExchangeOptions;
  /** The client waits to be told to send its body. */
  #asks: boolean;
  /** Tells of room. */
  #source: EventEmitter | undefined;
  /** What is still to be written of the present part. */
  #rest: Buffer[] = [];

  /** `asks`: the client waits to be told to send its body. */
  constructor(raw: IncomingMessage, response: ServerResponse, asks: boolean, options: Http1ExchangeOptions) {
    this.#raw = raw;
    this.#response = response;
    this.#asks = asks;
    this.#options = options;
    const hasBody = bodyFollows(raw);
    this.request = new ServerRequest({
      method: raw.method ?? 'GET',
      url: raw.url ?? '/',
      // Node.js gives names in lower case and joins what is repeated; only responses have headers that are lists.
      headers: raw.headers as Record<string, string | undefined>,
      rawHeaders: raw.rawHeaders,
      peer: options.peer,
      gone: this.gone,
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
    // A client that still waits may send its body or not: what comes next on the connection cannot be told.
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
    // Node.js would write the size, the part and the line's end one by one.
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

  /** Writes chunks until the one before has to leave first; false then. */
  #writeOn(socket: Socket): boolean {
    for (let next = this.#rest.shift(); next !== undefined; next = this.#rest.shift()) {
      if (socket.write(next)) continue;
      this.#wait(socket);
      return false;
    }
    return true;
  }

  /** Without waiting for the chunks before these to leave. */
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
    this.listener?.closed();
    this.#options.closed();
  };

  /** Tells a client that waits for it to send its body. */
  #goOn(): void {
    if (!this.#asks) return;
    this.#asks = false;
    this.#response.writeContinue();
  }

  get #lingering(): LingerOptions {
    const { clock, maxBodyBytes, lingerMs } = this.#options;
    return { clock, bytes: lingerBodies * maxBodyBytes, ms: lingerMs };
  }

  /** The body as it comes. What is left of it when its reader leaves is in the way of the next request on the connection. */
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

  /** The whole body. */
  async #readBody(): Promise<Buffer> {
    const raw = this.#raw;
    const announced = raw.headers['content-length'];
    const { maxBodyBytes } = this.#options;
    const length = Number(announced ?? 0);
    if (length <= maxBodyBytes) this.#goOn();
    if (announced === undefined && (raw.method === 'GET' || raw.method === 'HEAD')) return nothing;
    return readBody({ source: raw, length }, maxBodyBytes, () => {
      // What the client still sends is not wanted, but it is to read the answer.
      this.closes = true;
      lingerAfterAnswer(raw, this.#lingering);
    });
  }
}

/** Whether anything of a body is to be expected. */
function bodyFollows({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return true;
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

interface LingerOptions {
  readonly clock: Clock;
  /** Bytes of the body that are read and thrown away at most. */
  readonly bytes: number;
  /** Time for the client to take the answer and to stop sending. */
  readonly ms: number;
}

/**
 * Lets the client of HTTP/1.1 read an answer that comes before its body has ended. The connection is to be closed after that
 * answer, but closing one with unread bytes resets it, and the client loses the answer with it (RFC 9112,
 * section 9.6). So the rest of the body is read and thrown away for a while, and the connection ended then. To be called
 * before the answer is written.
 */
function lingerAfterAnswer(request: IncomingMessage, { clock, bytes, ms }: LingerOptions): void {
  const socket = request.socket as TLSSocket;
  const enough = socket.bytesRead + bytes;
  request.removeAllListeners('data');
  request.on('data', () => {
    if (socket.bytesRead > enough) socket.destroy();
  });
  request.resume();
  // What Node.js calls when the answer has left and the connection is not to be kept.
  socket.destroySoon = () => {
    const timer = clock.setTimer(() => socket.destroy(), ms);
    socket.once('close', () => timer.cancel());
    if (request.complete) socket.end(() => socket.destroy());
    else {
      request.once('end', () => socket.destroy());
      // The answer is all that the client gets.
      socket.end();
    }
  };
}

/**
 * The same for a body of which a part was passed on, whose answer may be on its way already and have promised that the
 * connection stays: it does, if the rest comes soon.
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
