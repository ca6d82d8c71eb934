/** Reads and writes frames of SPDY/3.1 (draft 3, section 2.2). */

export const frameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const frameFlag = { fin: 0x01, unidirectional: 0x02 } as const;

/** Status codes of RST_STREAM. */
export const resetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  flowControlError: 7,
  streamAlreadyClosed: 9,
} as const;

/** Status codes of GOAWAY. */
export const goAwayStatus = { ok: 0, protocolError: 1 } as const;

const version = 3;
const headBytes = 8;
/** Control frames of regular peers have a few hundred bytes. */
const maxControlBytes = 64 * 1024;

export function uint32s(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 4);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, i * 4);
  return bytes;
}

export function controlFrame(type: number, flags: number, body: Buffer): Buffer {
  return Buffer.concat([uint32s(0x8000_0000 | (version << 16) | type, (flags << 24) | body.length), body]);
}

/** The header of a data frame of `length` bytes. */
export function dataHead(id: number, fin: boolean, length: number): Buffer {
  return uint32s(id, ((fin ? frameFlag.fin : 0) << 24) | length);
}

/** The peer violated the protocol; the connection is unusable. */
export class SpdyProtocolError extends Error {}

export type Frame =
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly body: Buffer }
  /** A part of a data frame; `fin` is set on the last part only. */
  | { readonly kind: 'data'; readonly id: number; readonly fin: boolean; readonly bytes: Buffer };

/**
 * Splits a connection's bytes into frames. Data is passed on as it arrives, whatever the frame's length; only a frame's
 * head and a control frame's body are buffered.
 */
export class FrameReader {
  readonly #head = Buffer.alloc(headBytes);
  #headLength = 0;
  /** The incomplete control frame. */
  #control: { readonly body: Buffer; length: number } | undefined;
  /** The incomplete data frame. */
  #data: { readonly id: number; readonly fin: boolean; left: number } | undefined;

  /** Frames, or parts of them, in `chunk`. Throws SpdyProtocolError, after which nothing may be read. */
  *read(chunk: Buffer): Generator<Frame> {
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#data !== undefined) {
        const { id, fin, left } = this.#data;
        const bytes = chunk.subarray(offset, offset + left);
        offset += bytes.length;
        this.#data.left -= bytes.length;
        const last = this.#data.left === 0;
        if (last) this.#data = undefined;
        yield { kind: 'data', id, fin: fin && last, bytes };
      } else if (this.#control !== undefined) {
        const { body, length } = this.#control;
        const copied = chunk.copy(body, length, offset);
        offset += copied;
        this.#control.length += copied;
        if (this.#control.length === body.length) yield this.#endOfControl(body);
      } else {
        const copied = chunk.copy(this.#head, this.#headLength, offset);
        offset += copied;
        this.#headLength += copied;
        if (this.#headLength < headBytes) return;
        const frame = this.#begin();
        if (frame !== undefined) yield frame;
      }
    }
  }

  /** Parses a complete head; returns the frame if it has no body. */
  #begin(): Frame | undefined {
    this.#headLength = 0;
    const first = this.#head.readUInt32BE(0);
    const second = this.#head.readUInt32BE(4);
    const length = second & 0xff_ffff;
    if (first >>> 31 === 0) {
      const fin = ((second >>> 24) & frameFlag.fin) !== 0;
      if (length === 0) return { kind: 'data', id: first, fin, bytes: Buffer.alloc(0) };
      this.#data = { id: first, fin, left: length };
      return undefined;
    }
    if (((first >>> 16) & 0x7fff) !== version) throw new SpdyProtocolError('frame of another version');
    if (length > maxControlBytes) throw new SpdyProtocolError(`control frame of ${length} bytes is too large`);
    if (length === 0) return this.#endOfControl(Buffer.alloc(0));
    this.#control = { body: Buffer.alloc(length), length: 0 };
    return undefined;
  }

  #endOfControl(body: Buffer): Frame {
    this.#control = undefined;
    return { kind: 'control', type: this.#head.readUInt16BE(2), flags: this.#head.readUInt8(4), body };
  }
}
