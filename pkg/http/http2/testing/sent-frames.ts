/** Parses what one side of a connection has sent. */
import { frameHeadBytes } from '#http/http2/frames.js';

export interface SentFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** All complete frames. */
export function sentFrames(bytes: Buffer): SentFrame[] {
  const frames: SentFrame[] = [];
  for (let at = 0; at + frameHeadBytes <= bytes.length; ) {
    const end = at + frameHeadBytes + bytes.readUIntBE(at, 3);
    const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
    const streamId = bytes.readUInt32BE(at + 5);
    frames.push({ type, flags, streamId, payload: bytes.subarray(at + frameHeadBytes, end) });
    at = end;
  }
  return frames;
}

/** The last frame of this type, and of this stream if given. */
export function lastSent(said: readonly SentFrame[], type: number, streamId?: number): SentFrame | undefined {
  return said.findLast((each) => each.type === type && (streamId ?? each.streamId) === each.streamId);
}
