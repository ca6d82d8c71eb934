/**
 * Watch events as Protobuf streams carry them: frames of a length (32 bits, big-endian) and a WatchEvent message
 * (1 type, 2 object: a message whose field 1 holds the enveloped object).
 */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { Reader } from '#apimachinery/codec/protobuf/reader.js';
import { ReverseWriter, tag, wire } from '#apimachinery/codec/protobuf/writer.js';

export interface WatchFrame {
  readonly type: string;
  /** The enveloped object. */
  readonly object: Buffer;
}

/** What precedes an enveloped object of `size` bytes in a frame; nothing follows it. */
export function watchFrameHead(type: string, size: number): Buffer {
  const writer = new ReverseWriter();
  writer.varint(size);
  writer.varint(tag(1, wire.delimited));
  writer.varint(writer.length + size);
  writer.varint(tag(2, wire.delimited));
  const before = writer.length;
  writer.string(type);
  writer.varint(writer.length - before);
  writer.varint(tag(1, wire.delimited));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(writer.length + size);
  writer.bytes(length);
  return writer.finish();
}

/** The frame of an event. */
export function encodeWatchFrame(type: string, object: Buffer): Buffer {
  return Buffer.concat([watchFrameHead(type, object.length), object]);
}

function decodeWatchEvent(bytes: Buffer): WatchFrame {
  const reader = new Reader(bytes);
  let type = '';
  let object: Buffer = Buffer.alloc(0);
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.delimited)) type = reader.string();
    else if (key === tag(2, wire.delimited)) {
      const outer = reader.enter();
      while (reader.at < reader.end) {
        const inner = reader.uint32();
        if (inner === tag(1, wire.delimited)) object = reader.bytes();
        else reader.skip(inner & 7);
      }
      reader.leave(outer);
    } else reader.skip(key & 7);
  }
  return { type, object };
}

/** Puts frames together out of the pieces in which a stream arrives. */
export class WatchFrameReader {
  readonly #maxFrameBytes: number;
  #chunks: Buffer[] = [];
  #size = 0;
  /** Size of the frame that is being waited for; undefined until its length has arrived. */
  #wanted: number | undefined;

  constructor(options: { maxFrameBytes?: number } = {}) {
    this.#maxFrameBytes = options.maxFrameBytes ?? 16 * 1024 * 1024;
  }

  /** The events that the piece completes. Throws a DecodeError; the stream is of no use afterwards. */
  push(chunk: Buffer): WatchFrame[] {
    return this.pushRaw(chunk).map(decodeWatchEvent);
  }

  /** The same events as encoded WatchEvents, without their lengths. */
  pushRaw(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const frames: Buffer[] = [];
    for (;;) {
      if (this.#wanted === undefined) {
        if (this.#size < 4) return frames;
        this.#wanted = this.#take(4).readUInt32BE(0);
        if (this.#wanted > this.#maxFrameBytes)
          throw new DecodeError(`watch event of ${this.#wanted} bytes is too large`);
      }
      if (this.#size < this.#wanted) return frames;
      const frame = this.#take(this.#wanted);
      this.#wanted = undefined;
      frames.push(frame);
    }
  }

  /** True when the stream ended between two frames. */
  get isComplete(): boolean {
    return this.#size === 0 && this.#wanted === undefined;
  }

  /** The next bytes, of which there are enough. Pieces are joined once per frame at most. */
  #take(size: number): Buffer {
    const joined = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks, this.#size);
    const all = joined ?? Buffer.alloc(0);
    const rest = all.subarray(size);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    return all.subarray(0, size);
  }
}
