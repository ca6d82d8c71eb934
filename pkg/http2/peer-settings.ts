/** What a server's SETTINGS frame says (RFC 9113, 6.5.2), as far as a client that sends no tables and takes no pushes cares. */
import { ConnectionError } from '#http2/connection-error.js';
import { defaultFrameBytes, maxWindow, resetCode, setting } from '#http2/frames.js';

export interface PeerSettings {
  /** Streams at once. */
  readonly maxStreams?: number;
  /** Bytes of a frame. */
  readonly frameBytes?: number;
  /** Bytes that each stream may be sent at first. */
  readonly initialWindow?: number;
}

const settingBytes = 6;
const maxFrameBytes = 2 ** 24 - 1;

/** Of a setting that is there more than once, the last. Throws ConnectionErrors for what is not allowed. */
export function readSettings(payload: Buffer): PeerSettings {
  if (payload.length % settingBytes !== 0) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'malformed settings');
  const found: { -readonly [K in keyof PeerSettings]: PeerSettings[K] } = {};
  for (let at = 0; at < payload.length; at += settingBytes) {
    const value = payload.readUInt32BE(at + 2);
    switch (payload.readUInt16BE(at)) {
      case setting.ENABLE_PUSH:
        if (value !== 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a server that wants to be pushed to');
        break;
      case setting.MAX_CONCURRENT_STREAMS:
        found.maxStreams = value;
        break;
      case setting.MAX_FRAME_SIZE:
        if (value < defaultFrameBytes || value > maxFrameBytes) {
          throw new ConnectionError(resetCode.PROTOCOL_ERROR, `frames of ${value} bytes are not allowed`);
        }
        found.frameBytes = value;
        break;
      case setting.INITIAL_WINDOW_SIZE:
        if (value > maxWindow) throw new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
        found.initialWindow = value;
        break;
    }
  }
  return found;
}
