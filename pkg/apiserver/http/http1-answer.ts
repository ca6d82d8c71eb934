/** An answer over HTTP/1.1, by Node.js's. */
import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AnswerListener, AnswerTarget } from '#apiserver/http/answer-target.js';

const lineEnd = '\r\n';
/** Parts up to here are put into one buffer with what makes a chunk of them. */
const copiedBytes = 64 * 1024;

/** Parts of bodies as chunks. What watches send is the same for many of them, and is made into a chunk once. */
export class Chunks {
  readonly #made = new WeakMap<Buffer, Buffer>();

  of(bytes: Buffer): Buffer {
    let chunk = this.#made.get(bytes);
    if (chunk === undefined) {
      const head = `${bytes.length.toString(16)}${lineEnd}`;
      chunk = Buffer.allocUnsafe(head.length + bytes.length + lineEnd.length);
      chunk.write(head, 0, 'latin1');
      bytes.copy(chunk, head.length);
      chunk.write(lineEnd, head.length + bytes.length, 'latin1');
      this.#made.set(bytes, chunk);
    }
    return chunk;
  }
}

export class Http1Answer implements AnswerTarget {
  listener: AnswerListener | undefined;
  /** The connection ends with this answer. */
  closes = false;
  readonly #response: ServerResponse;
  readonly #chunks: Chunks;
  readonly #closed: () => void;
  /** Tells of room. */
  #source: EventEmitter | undefined;

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
    // Node.js would write the size, the part and the line's end one by one.
    const room =
      left === undefined && response.chunkedEncoding && socket !== null && bytes.length < copiedBytes
        ? socket.write(this.#chunks.of(bytes))
        : response.write(bytes, left);
    if (!room && left === undefined) this.#wait(socket ?? response);
    return room;
  }

  end(bytes?: Buffer, left?: () => void): void {
    this.#response.end(bytes, left);
  }

  destroy(): void {
    this.#response.destroy();
  }

  #wait(source: EventEmitter): void {
    this.#source = source;
    source.once('drain', this.#drained);
  }

  readonly #drained = (): void => this.listener?.drained();

  readonly #over = (): void => {
    this.#source?.off('drain', this.#drained);
    this.listener?.closed();
    this.#closed();
  };
}
