/** Frame layout of HTTP/2 (RFC 9113, 4 and 6). */

/** A connection error: the peer's further data cannot be trusted (RFC 9113, 5.4.1). */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError';

  /** `code`: one of `resetCode`, sent to the peer. */
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** Receives parsed frames (RFC 9113, 4.1). */
export interface FrameSink {
  /** True to stop parsing. */
  stopped(): boolean;
  /** A DATA frame without padding starts. */
  data(streamId: number, flags: number, length: number): void;
  /** A part of the DATA frame. */
  dataPart(chunk: Buffer): void;
  dataOver(): void;
  /** Any other frame, complete. */
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

const nothing = Buffer.alloc(0);

export class FrameParser {
  readonly #sink: FrameSink;
  /** Start of an incomplete frame. */
  #rest: Buffer = nothing;
  /** Bytes left of the current DATA frame. */
  #dataLeft = 0;

  /** Bytes of the preface that are still expected. */
  #preface: Buffer;

  /** `preface`: what precedes the first frame. */
  constructor(sink: FrameSink, preface: Buffer = nothing) {
    this.#sink = sink;
    this.#preface = preface;
  }

  /** Throws a ConnectionError for an oversized frame or a wrong preface. */
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
      if (length > defaultFrameBytes) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'frame is too large');
      const type = bytes[at + 3] as number;
      const flags = bytes[at + 4] as number;
      const streamId = bytes.readUInt32BE(at + 5) & maxStreamId;
      // DATA is passed on as it arrives; the frame need not be complete.
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

  /** Checks the preface; returns where the first frame starts, or the end of the bytes. */
  #begin(bytes: Buffer): number {
    const length = Math.min(bytes.length, this.#preface.length);
    if (!bytes.subarray(0, length).equals(this.#preface.subarray(0, length))) {
      throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'invalid HTTP/2 preface');
    }
    this.#preface = this.#preface.subarray(length);
    return length;
  }
}

export const frameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const frameFlag = { END_STREAM: 1, ACK: 1, END_HEADERS: 4, PADDED: 8, PRIORITY: 32 } as const;

export const setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

export const resetCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  ENHANCE_YOUR_CALM: 11,
} as const;

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const frameHeadBytes = 9;
/** Payload limit before the other side raises it. */
export const defaultFrameBytes = 16_384;
export const defaultWindowBytes = 65_535;
/** Largest possible window. */
export const maxWindow = 2 ** 31 - 1;
/** Largest possible stream id. */
export const maxStreamId = 2 ** 31 - 1;

export interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly length: number;
}

/** Writes a frame's head into `target` and returns the offset of its payload. */
export function writeFrameHead(target: Buffer, at: number, { type, flags, streamId, length }: FrameHead): number {
  target[at] = length >>> 16;
  target[at + 1] = length >>> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = flags;
  return target.writeUInt32BE(streamId, at + 5);
}

export function frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + payload.length);
  const at = writeFrameHead(bytes, 0, { type, flags, streamId, length: payload.length });
  payload.copy(bytes, at);
  return bytes;
}

/** RST_STREAM or WINDOW_UPDATE: a frame with one 32-bit number. */
export function numberFrame(type: number, streamId: number, value: number): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + 4);
  bytes.writeUInt32BE(value, writeFrameHead(bytes, 0, { type, flags: 0, streamId, length: 4 }));
  return bytes;
}

/** Reply to a PING. */
export function pongFrame(payload: Buffer): Buffer {
  return frame(frameType.PING, frameFlag.ACK, 0, payload);
}

/** GOAWAY: streams beyond `lastId` are not processed. */
export function goAwayFrame(lastId: number, code: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(code, payload.writeUInt32BE(lastId, 0));
  return frame(frameType.GOAWAY, 0, 0, payload);
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  for (const [i, [id, value]] of settings.entries()) payload.writeUInt32BE(value, payload.writeUInt16BE(id, 6 * i));
  return frame(frameType.SETTINGS, 0, 0, payload);
}

/** Payload of HEADERS or DATA without padding and priority. Throws ConnectionErrors. */
export function unpadded(payload: Buffer, flags: number, hasPriority: boolean): Buffer {
  const padded = (flags & frameFlag.PADDED) !== 0;
  const start = (padded ? 1 : 0) + (hasPriority && (flags & frameFlag.PRIORITY) !== 0 ? 5 : 0);
  if (start > payload.length) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'frame is too short');
  const padding = padded ? (payload[0] as number) : 0;
  if (start + padding > payload.length) {
    throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'padding exceeds the frame');
  }
  return payload.subarray(start, payload.length - padding);
}

/** Throws a ConnectionError unless the payload has this length. */
export function requireLength(payload: Buffer, length: number, what: string): void {
  if (payload.length !== length) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, `malformed ${what}`);
}

/** Throws a ConnectionError if a connection-level frame names a stream. */
export function requireNoStream(streamId: number, what: string): void {
  if (streamId !== 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, `${what} for a stream`);
}

/** The settings that matter without server push and without a dynamic header table (RFC 9113, 6.5.2). */
export interface PeerSettings {
  /** Limit of concurrent streams. */
  readonly maxStreams?: number;
  /** Limit of a frame's payload. */
  readonly frameBytes?: number;
  /** Initial window of each stream. */
  readonly initialWindow?: number;
  /** Size of the peer's dynamic header table. */
  readonly tableBytes?: number;
}

const settingBytes = 6;
const maxFrameBytes = 2 ** 24 - 1;

/** The last value of each setting counts. Throws ConnectionErrors for values that `peer` may not send. */
export function readSettings(payload: Buffer, peer: 'client' | 'server'): PeerSettings {
  if (payload.length % settingBytes !== 0) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'malformed SETTINGS');
  const settings: { -readonly [K in keyof PeerSettings]: PeerSettings[K] } = {};
  for (let at = 0; at < payload.length; at += settingBytes) {
    const value = payload.readUInt32BE(at + 2);
    switch (payload.readUInt16BE(at)) {
      case setting.ENABLE_PUSH:
        if (value > (peer === 'server' ? 0 : 1)) {
          throw new ConnectionError(resetCode.PROTOCOL_ERROR, `invalid ENABLE_PUSH of the ${peer}`);
        }
        break;
      case setting.HEADER_TABLE_SIZE:
        settings.tableBytes = value;
        break;
      case setting.MAX_CONCURRENT_STREAMS:
        settings.maxStreams = value;
        break;
      case setting.MAX_FRAME_SIZE:
        if (value < defaultFrameBytes || value > maxFrameBytes) {
          throw new ConnectionError(resetCode.PROTOCOL_ERROR, `invalid MAX_FRAME_SIZE ${value}`);
        }
        settings.frameBytes = value;
        break;
      case setting.INITIAL_WINDOW_SIZE:
        if (value > maxWindow) throw new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'window is too large');
        settings.initialWindow = value;
        break;
    }
  }
  return settings;
}
