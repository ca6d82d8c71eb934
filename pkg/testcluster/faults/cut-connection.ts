/** A client's connection that breaks off after so many bytes to the client, or after a time. */
import { Duplex } from 'node:stream';
import type { Clock, Timer } from '#apimachinery/clock.js';

export interface CutConnectionOptions {
  /** Bytes after the head of the response, which ends with the first empty line; undefined: any number. */
  readonly bytes: number | undefined;
  /** Time since the end of that head; undefined: any time. */
  readonly ms: number | undefined;
  readonly clock: Clock;
}

const headEnd = Buffer.from('\r\n\r\n');

/** Leaves the connection alone until it is read or written. */
export class CutConnection extends Duplex {
  readonly #inner: Duplex;
  readonly #options: CutConnectionOptions;
  #left: number;
  /** The last bytes of the head so far; undefined after its end. */
  #head: Buffer | undefined = Buffer.alloc(0);
  #isRead = false;
  #timer: Timer | undefined;

  constructor(inner: Duplex, options: CutConnectionOptions) {
    super();
    this.#inner = inner;
    this.#options = options;
    this.#left = options.bytes ?? Number.POSITIVE_INFINITY;
    inner.on('error', () => this.destroy());
    inner.once('close', () => this.destroy());
  }

  override _read(): void {
    if (!this.#isRead) {
      this.#isRead = true;
      this.#inner.on('data', (chunk: Buffer) => {
        if (!this.push(chunk)) this.#inner.pause();
      });
      this.#inner.once('end', () => this.push(null));
    }
    this.#inner.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (error?: Error | null) => void): void {
    const start = this.#passHead(chunk);
    const length = chunk.length - start;
    if (length < this.#left || this.#head !== undefined) {
      this.#left -= length;
      this.#inner.write(chunk, written);
      return;
    }
    this.#inner.write(chunk.subarray(0, start + this.#left), () => this.destroy());
  }

  override _final(ended: (error?: Error | null) => void): void {
    this.#inner.end(() => ended());
  }

  override _destroy(error: Error | null, destroyed: (error?: Error | null) => void): void {
    this.#timer?.cancel();
    this.#inner.destroy();
    destroyed(error);
  }

  /** Where the bytes after the head begin. */
  #passHead(chunk: Buffer): number {
    if (this.#head === undefined) return 0;
    const before = this.#head.length;
    const text = Buffer.concat([this.#head, chunk]);
    const at = text.indexOf(headEnd);
    if (at < 0) {
      this.#head = text.subarray(Math.max(0, text.length - headEnd.length + 1));
      return chunk.length;
    }
    this.#head = undefined;
    const { clock, ms } = this.#options;
    if (ms !== undefined) this.#timer = clock.setTimer(() => this.destroy(), ms);
    return at + headEnd.length - before;
  }
}
