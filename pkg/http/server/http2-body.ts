/** The body of a request over HTTP/2, as it comes in: held back by the stream's window until somebody reads it. */
import { Readable } from 'node:stream';
import type { ServerStream } from '#http/http2/server-stream.js';
import type { StreamedBody } from '#http/server/exchange.js';
import { BodyTooLargeError } from '#http/server/request-body.js';

interface Reading {
  readonly maxBytes: number;
  readonly resolve: (body: Buffer) => void;
  readonly reject: (error: Error) => void;
}

const nothing = Buffer.alloc(0);

export class Http2Body {
  readonly #stream: ServerStream;
  #parts: Buffer[] = [];
  #size = 0;
  #ended = false;
  #broken = false;
  #refused = false;
  #reading: Reading | undefined;
  /** For who takes it part by part. */
  #source: Readable | undefined;
  /** The source has room. */
  #wanted = false;

  constructor(stream: ServerStream) {
    this.#stream = stream;
  }

  /** For the stream: a part has come. */
  add(chunk: Buffer): void {
    if (this.#refused) return;
    this.#parts.push(chunk);
    this.#size += chunk.length;
    if (this.#source !== undefined) return this.#pass();
    if (this.#reading === undefined) return;
    this.#stream.took(chunk.length);
    this.#look();
  }

  /** For the stream: nothing follows; `broken`: although it is not the end. */
  end(broken: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#broken = broken;
    if (this.#source !== undefined) this.#pass();
    else this.#look();
  }

  /** The whole body; once. Rejects with a BodyTooLargeError as soon as more than `maxBytes` are announced or have come. */
  read(maxBytes: number): Promise<Buffer> {
    if ((this.#stream.form.length ?? 0) > maxBytes) return Promise.reject(new BodyTooLargeError());
    return new Promise((resolve, reject) => {
      this.#reading = { maxBytes, resolve, reject };
      this.#stream.took(this.#size);
      this.#look();
    });
  }

  /** The body part by part; once. */
  open(): StreamedBody {
    const source = new Readable({
      read: () => {
        this.#wanted = true;
        this.#pass();
      },
    });
    this.#source = source;
    const leave = () => {
      this.#refused = true;
      this.#parts = [];
      source.destroy();
    };
    return { source, length: this.#stream.form.length, leave };
  }

  /** To the source, as far as it has room. */
  #pass(): void {
    const source = this.#source;
    if (source === undefined || source.destroyed) return;
    while (this.#wanted) {
      const part = this.#parts.shift();
      if (part === undefined) break;
      this.#stream.took(part.length);
      this.#wanted = source.push(part);
    }
    if (this.#broken) source.destroy(brokenOff());
    else if (this.#ended && this.#parts.length === 0) source.push(null);
  }

  #look(): void {
    const reading = this.#reading;
    if (reading === undefined) return;
    if (this.#size > reading.maxBytes) {
      // The rest stays with the client: its window does not grow any more.
      this.#refused = true;
      this.#parts = [];
      reading.reject(new BodyTooLargeError());
    } else if (this.#broken) reading.reject(brokenOff());
    else if (this.#ended) {
      const [only = nothing] = this.#parts;
      reading.resolve(this.#parts.length <= 1 ? only : Buffer.concat(this.#parts, this.#size));
    }
  }
}

function brokenOff(): Error {
  return new Error('the request was broken off');
}
