/** The layout of HTTP/2's frames (RFC 9113, 4 and 6). */
import { ConnectionError } from '#http2/connection-error.js';

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
/** What a frame may hold before the other side allows more. */
export const defaultFrameBytes = 16_384;
export const defaultWindowBytes = 65_535;
/** The largest that a window can grow to. */
export const maxWindow = 2 ** 31 - 1;
/** The last number that a stream can have. */
export const maxStreamId = 2 ** 31 - 1;

export interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly length: number;
}

/** Writes a frame's head into `target` and returns where its payload begins. */
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

/** Frames whose payload is one number of 32 bits: RST_STREAM and WINDOW_UPDATE. */
export function numberFrame(type: number, streamId: number, value: number): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + 4);
  bytes.writeUInt32BE(value, writeFrameHead(bytes, 0, { type, flags: 0, streamId, length: 4 }));
  return bytes;
}

/** Answers a PING with that payload. */
export function pongFrame(payload: Buffer): Buffer {
  return frame(frameType.PING, frameFlag.ACK, 0, payload);
}

/** Says that streams beyond `lastId` are not acted upon, and why. */
export function farewellFrame(lastId: number, code: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(code, payload.writeUInt32BE(lastId, 0));
  return frame(frameType.GOAWAY, 0, 0, payload);
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  for (const [i, [id, value]] of settings.entries()) payload.writeUInt32BE(value, payload.writeUInt16BE(id, 6 * i));
  return frame(frameType.SETTINGS, 0, 0, payload);
}

/** What a HEADERS or DATA frame carries, without its padding and priority. Throws ConnectionErrors. */
export function unpadded(payload: Buffer, flags: number, hasPriority: boolean): Buffer {
  const padded = (flags & frameFlag.PADDED) !== 0;
  const start = (padded ? 1 : 0) + (hasPriority && (flags & frameFlag.PRIORITY) !== 0 ? 5 : 0);
  if (start > payload.length) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'a frame is cut off');
  const padding = padded ? (payload[0] as number) : 0;
  if (start + padding > payload.length) {
    throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a frame has more padding than there is');
  }
  return payload.subarray(start, payload.length - padding);
}

/** Throws a ConnectionError for a frame of another length than its type has. */
export function requireLength(payload: Buffer, length: number, what: string): void {
  if (payload.length !== length) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, `a malformed ${what}`);
}

/** Throws a ConnectionError for a frame that speaks of the whole connection and names a stream. */
export function requireNoStream(streamId: number, what: string): void {
  if (streamId !== 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, `a ${what} for a stream`);
}
