/** DATA frames that are made in the memory that they are sent from: what they carry need not be copied once more. */
import { defaultFrameBytes, frameHeadBytes, frameType, writeFrameHead } from '#http/http2/frames.js';

/** A buffer that frames of one stream fill. Every peer takes frames of their size (RFC 9113, 4.2). */
export class DataFrames {
  readonly buffer: Buffer;
  readonly #streamId: number;
  /** Where the payload of the frame begins that is not complete. */
  #begin = frameHeadBytes;
  /** Where what comes next belongs. */
  #at = frameHeadBytes;
  /** Payload of the frames before. */
  #payload = 0;

  constructor(buffer: Buffer, streamId: number) {
    this.buffer = buffer;
    this.#streamId = streamId;
  }

  /** Where in the buffer what comes next belongs. */
  get at(): number {
    return this.#at;
  }

  /** Bytes of payload. */
  get length(): number {
    return this.#payload + this.#at - this.#begin;
  }

  /** Whether so many bytes can be written one behind the other at `at`, which this may move to where another frame begins. */
  hasRoom(length: number): boolean {
    if (this.#at + length <= this.#end) return true;
    const next = this.#at + frameHeadBytes;
    if (length > defaultFrameBytes || next + length > this.buffer.length) return false;
    this.#writeHead();
    this.#payload += this.#at - this.#begin;
    this.#begin = next;
    this.#at = next;
    return true;
  }

  /** Most bytes that can be written one behind the other at `at`, which this may move; 0 when all is full. */
  mostRoom(): number {
    return this.hasRoom(1) ? this.#end - this.#at : 0;
  }

  /** So many bytes have been written at `at`. */
  wrote(length: number): void {
    this.#at += length;
  }

  /** All frames; complete until more is written. */
  bytes(): Buffer {
    this.#writeHead();
    return this.buffer.subarray(0, this.#at);
  }

  /** What each of the frames carries. */
  payloads(): Buffer[] {
    const all = this.bytes();
    const payloads: Buffer[] = [];
    for (let at = 0; at < all.length; ) {
      const begin = at + frameHeadBytes;
      at = begin + all.readUIntBE(at, 3);
      payloads.push(all.subarray(begin, at));
    }
    return payloads;
  }

  get #end(): number {
    return Math.min(this.#begin + defaultFrameBytes, this.buffer.length);
  }

  #writeHead(): void {
    const length = this.#at - this.#begin;
    const head = { type: frameType.DATA, flags: 0, streamId: this.#streamId, length };
    writeFrameHead(this.buffer, this.#begin - frameHeadBytes, head);
  }
}
