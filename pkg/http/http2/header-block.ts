/** A block of headers that comes in several frames (RFC 9113, 6.10). */
import { ConnectionError } from '#http/http2/connection-error.js';
import { resetCode } from '#http/http2/frames.js';

/** Frames that continue one block: it may be long, but need not come in crumbs. */
const maxContinuations = 64;

export class HeaderBlock {
  readonly streamId: number;
  /** Nothing follows it on its stream. */
  readonly ends: boolean;
  readonly #maxBytes: number;
  #bytes: Buffer;
  #continuations = 0;

  /** `maxBytes`: over all its frames. */
  constructor(streamId: number, ends: boolean, bytes: Buffer, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.streamId = streamId;
    this.ends = ends;
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Throws a ConnectionError when it becomes too much. */
  add(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    this.#continuations++;
    if (this.#bytes.length > this.#maxBytes || this.#continuations > maxContinuations) {
      throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'headers are too long');
    }
  }
}
