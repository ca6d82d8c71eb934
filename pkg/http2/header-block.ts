/** A block of headers that comes in several frames (RFC 9113, 6.10). */
import { ConnectionError } from '#http2/connection-error.js';
import { resetCode } from '#http2/frames.js';

/** Bytes of one block, over all its frames. */
const maxBlockBytes = 64 * 1024;
/** Frames that continue one block: it may be long, but need not come in crumbs. */
const maxContinuations = 64;

export class HeaderBlock {
  readonly streamId: number;
  /** Nothing follows it on its stream. */
  readonly ends: boolean;
  #bytes: Buffer;
  #continuations = 0;

  constructor(streamId: number, ends: boolean, bytes: Buffer) {
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
    if (this.#bytes.length > maxBlockBytes || this.#continuations > maxContinuations) {
      throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'headers are too long');
    }
  }
}
