/** What a SETTINGS frame says (RFC 9113, 6.5.2), as far as one cares who does not push and writes headers without the table. */
import { ConnectionError } from '#http/http2/connection-error.js';
import { defaultFrameBytes, maxWindow, resetCode, setting } from '#http/http2/frames.js';

export interface PeerSettings {
  /** Streams at once. */
  readonly maxStreams?: number;
  /** Bytes of a frame. */
  readonly frameBytes?: number;
  /** Bytes that each stream may be sent at first. */
  readonly initialWindow?: number;
  /** Bytes of its table of recent headers. */
  readonly tableBytes?: number;
}

const settingBytes = 6;
const maxFrameBytes = 2 ** 24 - 1;

/** Of a setting that is there more than once, the last. Throws ConnectionErrors for what `peer` may not say. */
export function readSettings(payload: Buffer, peer: 'client' | 'server'): PeerSettings {
  if (payload.length % settingBytes !== 0) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'malformed settings');
  const found: { -readonly [K in keyof PeerSettings]: PeerSettings[K] } = {};
  for (let at = 0; at < payload.length; at += settingBytes) {
    const value = payload.readUInt32BE(at + 2);
    switch (payload.readUInt16BE(at)) {
      case setting.ENABLE_PUSH:
        if (value > (peer === 'server' ? 0 : 1)) {
          throw new ConnectionError(resetCode.PROTOCOL_ERROR, `a ${peer} that cannot want such pushes`);
        }
        break;
      case setting.HEADER_TABLE_SIZE:
        found.tableBytes = value;
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
