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

const noBytes: Buffer = Buffer.alloc(0);

function decodeWatchEvent(bytes: Buffer): WatchFrame {
  const reader = new Reader(bytes);
  let type = '';
  let object = noBytes;
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

/** Of a frame's length. */
const headSize = 4;

/** Puts frames together out of the pieces in which a stream arrives. */
export class WatchFrameReader {
  readonly #maxFrameBytes: number;
  /** What has come of the next frame. */
  #chunks: Buffer[] = [];
  #size = 0;
  /** With fewer bytes there is nothing to be done. Pieces are joined when there is: once per frame at most. */
  #wanted = headSize;

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
    if (this.#size < this.#wanted) return [];
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#size);
    const frames: Buffer[] = [];
    let at = 0;
    this.#wanted = headSize;
    while (bytes.length - at >= headSize) {
      const size = bytes.readUInt32BE(at);
      if (size > this.#maxFrameBytes) throw new DecodeError(`watch event of ${size} bytes is too large`);
      const end = at + headSize + size;
      if (end > bytes.length) {
        this.#wanted = headSize + size;
        break;
      }
      frames.push(bytes.subarray(at + headSize, end));
      at = end;
    }
    this.#size = bytes.length - at;
    this.#chunks = this.#size === 0 ? [] : [bytes.subarray(at)];
    return frames;
  }

  /** True when the stream ended between two frames. */
  get isComplete(): boolean {
    return this.#size === 0;
  }
}
