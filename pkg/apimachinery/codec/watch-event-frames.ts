/**
 * Watch events in Protobuf streams: frames of a length (32 bits, big-endian) and a WatchEvent message (1 type, 2
 * object: a message whose field 1 holds the enveloped object).
 */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { Reader } from '#apimachinery/codec/protobuf/reader.js';
import { ReverseWriter, tag, wire } from '#apimachinery/codec/protobuf/writer.js';

export interface WatchFrame {
  readonly type: string;
  /** The enveloped object. */
  readonly object: Buffer;
}

/** The bytes before an enveloped object of `size` bytes in a frame, which it ends. */
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

/** Size of the length prefix. */
const headSize = 4;

/** Reassembles frames from the chunks of a stream. */
export class WatchFrameReader {
  readonly #maxFrameBytes: number;
  /** Received bytes of the next frame. */
  #chunks: Buffer[] = [];
  #size = 0;
  /** Bytes needed before parsing can continue. Chunks are concatenated at most once per frame. */
  #neededBytes = headSize;

  constructor(options: { maxFrameBytes?: number } = {}) {
    this.#maxFrameBytes = options.maxFrameBytes ?? 16 * 1024 * 1024;
  }

  /** The events that the chunk completes. Throws a DecodeError; the stream is unusable afterwards. */
  push(chunk: Buffer): WatchFrame[] {
    return this.pushRaw(chunk).map(decodeWatchEvent);
  }

  /** The same events as encoded WatchEvents, without length prefixes. */
  pushRaw(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#neededBytes) return [];
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#size);
    const frames: Buffer[] = [];
    let at = 0;
    this.#neededBytes = headSize;
    while (bytes.length - at >= headSize) {
      const size = bytes.readUInt32BE(at);
      if (size > this.#maxFrameBytes) throw new DecodeError(`watch event of ${size} bytes is too large`);
      const end = at + headSize + size;
      if (end > bytes.length) {
        this.#neededBytes = headSize + size;
        break;
      }
      frames.push(bytes.subarray(at + headSize, end));
      at = end;
    }
    this.#size = bytes.length - at;
    this.#chunks = this.#size === 0 ? [] : [bytes.subarray(at)];
    return frames;
  }

  /** True if the stream ended between two frames. */
  get isComplete(): boolean {
    return this.#size === 0;
  }
}
