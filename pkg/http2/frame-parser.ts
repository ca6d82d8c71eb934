/** Cuts what is received into frames (RFC 9113, 4.1). */
import { ConnectionError } from '#http2/connection-error.js';
import { defaultFrameBytes, frameFlag, frameHeadBytes, frameType, maxStreamId, resetCode } from '#http2/frames.js';

export interface FrameSink {
  /** True: nothing more is wanted. */
  stopped(): boolean;
  /** A DATA frame without padding begins. */
  data(streamId: number, flags: number, length: number): void;
  /** A part of it, as it came. */
  dataPart(chunk: Buffer): void;
  dataOver(): void;
  /** Any other frame, whole. */
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

const nothing = Buffer.alloc(0);

export class FrameParser {
  readonly #sink: FrameSink;
  /** The beginning of a frame. */
  #rest: Buffer = nothing;
  /** Bytes that the present DATA frame still has. */
  #dataLeft = 0;

  /** What comes before the first frame and has not come yet. */
  #preface: Buffer;

  /** `preface`: what comes before the first frame. */
  constructor(sink: FrameSink, preface: Buffer = nothing) {
    this.#sink = sink;
    this.#preface = preface;
  }

  /** Throws a ConnectionError for a frame that is larger than was agreed upon, and for another preface. */
  push(chunk: Buffer): void {
    const sink = this.#sink;
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = nothing;
    let at = this.#preface.length === 0 ? 0 : this.#begin(bytes);
    while (!sink.stopped()) {
      if (this.#dataLeft > 0) {
        const end = Math.min(bytes.length, at + this.#dataLeft);
        if (end === at) break;
        this.#dataLeft -= end - at;
        sink.dataPart(bytes.subarray(at, end));
        at = end;
        if (this.#dataLeft === 0) sink.dataOver();
        continue;
      }
      if (bytes.length - at < frameHeadBytes) break;
      const length = bytes.readUIntBE(at, 3);
      if (length > defaultFrameBytes) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'a frame is too large');
      const type = bytes[at + 3] as number;
      const flags = bytes[at + 4] as number;
      const streamId = bytes.readUInt32BE(at + 5) & maxStreamId;
      // Data is passed on as it comes, whole frames of it need not be there.
      if (type === frameType.DATA && (flags & frameFlag.PADDED) === 0) {
        at += frameHeadBytes;
        sink.data(streamId, flags, length);
        this.#dataLeft = length;
        if (length === 0) sink.dataOver();
        continue;
      }
      const end = at + frameHeadBytes + length;
      if (end > bytes.length) break;
      sink.frame(type, flags, streamId, bytes.subarray(at + frameHeadBytes, end));
      at = end;
    }
    if (at < bytes.length) this.#rest = bytes.subarray(at);
  }

  /** Where the first frame begins, or the end of what has come. */
  #begin(bytes: Buffer): number {
    const length = Math.min(bytes.length, this.#preface.length);
    if (!bytes.subarray(0, length).equals(this.#preface.subarray(0, length))) {
      throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'this is not HTTP/2');
    }
    this.#preface = this.#preface.subarray(length);
    return length;
  }
}
