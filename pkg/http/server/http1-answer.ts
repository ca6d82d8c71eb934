/** An answer over HTTP/1.1, by Node.js's. */
import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { AnswerListener, AnswerTarget, Piece } from '#http/server/answer-target.js';
import { PlainPiece } from '#http/server/piece.js';

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
  readonly #made = new WeakMap<Buffer, readonly Buffer[]>();

  of(bytes: Buffer): readonly Buffer[] {
    let chunks = this.#made.get(bytes);
    if (chunks === undefined) {
      chunks = Array.from({ length: Math.ceil(bytes.length / mostInChunk) }, (_, i) =>
        chunkOf(bytes.subarray(i * mostInChunk, (i + 1) * mostInChunk)),
      );
      this.#made.set(bytes, chunks);
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

export class Http1Answer implements AnswerTarget {
  listener: AnswerListener | undefined;
  /** Node.js copies each part of a body in chunks. */
  readonly needsLength = true;
  /** The connection ends with this answer. */
  closes = false;
  readonly #response: ServerResponse;
  readonly #chunks: Chunks;
  readonly #closed: () => void;
  /** Tells of room. */
  #source: EventEmitter | undefined;
  /** What is still to be written of the present part. */
  #rest: Buffer[] = [];

  /** `closed`: told when the answer is over, for whatever reason. */
  constructor(response: ServerResponse, chunks: Chunks, closed: () => void) {
    this.#response = response;
    this.#chunks = chunks;
    this.#closed = closed;
    response.once('close', this.#over);
  }

  get destroyed(): boolean {
    return this.#response.destroyed;
  }

  get headersSent(): boolean {
    return this.#response.headersSent;
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
      this.#rest = [...this.#chunks.of(bytes)];
      return this.#goOn(socket);
    }
    const room = response.write(bytes, left);
    if (!room && left === undefined) this.#wait(response);
    return room;
  }

  piece(buffer: Buffer): Piece {
    return new PlainPiece(buffer, this);
  }

  end(bytes?: Buffer, left?: () => void): void {
    this.#writeRest();
    this.#response.end(bytes, left);
  }

  destroy(): void {
    this.#response.destroy();
  }

  /** Writes chunks until the one before has to leave first; false then. */
  #goOn(socket: Socket): boolean {
    for (let next = this.#rest.shift(); next !== undefined; next = this.#rest.shift()) {
      if (socket.write(next)) continue;
      this.#wait(socket);
      return false;
    }
    return true;
  }

  /** Nobody waits any more for the chunks before these to leave. */
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
    if (socket === null || this.#goOn(socket)) this.listener?.drained();
  };

  readonly #over = (): void => {
    this.#source?.off('drain', this.#drained);
    this.listener?.closed();
    this.#closed();
  };
}
