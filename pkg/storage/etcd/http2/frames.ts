/** The layout of HTTP/2's frames (RFC 9113, 4 and 6). */

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
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
} as const;

export const resetCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
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

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  for (const [i, [id, value]] of settings.entries()) payload.writeUInt32BE(value, payload.writeUInt16BE(id, 6 * i));
  return frame(frameType.SETTINGS, 0, 0, payload);
}

/** What a HEADERS or DATA frame carries, without its padding and priority; undefined when it is malformed. */
export function unpadded(payload: Buffer, flags: number, hasPriority: boolean): Buffer | undefined {
  const padded = (flags & frameFlag.PADDED) !== 0;
  const padding = padded ? (payload[0] ?? payload.length) : 0;
  const start = (padded ? 1 : 0) + (hasPriority && (flags & frameFlag.PRIORITY) !== 0 ? 5 : 0);
  return start + padding > payload.length ? undefined : payload.subarray(start, payload.length - padding);
}
