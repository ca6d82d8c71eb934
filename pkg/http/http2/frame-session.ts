/**
 * The common part of both sides of an HTTP/2 connection (RFC 9113): parses frames in order, assembles header blocks,
 * and keeps windows and settings. The subclass decides what a stream is and who opens it.
 */
import type { Duplex } from 'node:stream';
import { FrameWriter, type WriteBuffers } from '#http/http2/frame-writer.js';
import {
  ConnectionError,
  FrameParser,
  frame,
  frameFlag,
  frameType,
  goAwayFrame,
  maxStreamId,
  maxWindow,
  numberFrame,
  type PeerSettings,
  pongFrame,
  readSettings,
  requireLength,
  requireNoStream,
  resetCode,
  unpadded,
} from '#http/http2/frames.js';
import { HeaderDecoder, type HeaderField } from '#http/http2/hpack.js';
import { ClosedStreams, Outgoing, type OutgoingStream, StreamTable } from '#http/http2/streams.js';

/** A stream that receives frames. */
export interface FrameStream extends OutgoingStream {
  readonly form: { data(length: number): string | undefined; dataEnd(): string | undefined };
  received(chunk: Buffer): void;
  /** Padding arrived with data, and need not be read. */
  padded(length: number): void;
  /** The peer violated the rules of a stream; the connection continues (RFC 9113, 5.4.2). */
  fail(code: number, why: string): void;
}

export interface FrameSessionOptions {
  /** Connected; over TLS with `h2` negotiated. */
  readonly socket: Duplex;
  /** Which side the peer is. */
  readonly peer: 'client' | 'server';
  /** What the peer sends before its first frame. */
  readonly preface?: Buffer;
  /** Shared with other connections; absent: the session's own. */
  readonly buffers?: WriteBuffers | undefined;
  /** Limit of a header block over all its frames; a peer that exceeds it is disconnected. */
  readonly maxBlockBytes: number;
}

const nothing = Buffer.alloc(0);
const pingBytes = 8;

export abstract class FrameSession<S extends FrameStream> {
  protected readonly socket: Duplex;
  protected readonly writer: FrameWriter;
  protected readonly outgoing: Outgoing<S>;
  protected readonly streams = new StreamTable<S>();
  protected readonly closedStreams = new ClosedStreams();
  /** The peer's settings have arrived. */
  protected ready = false;
  /** No new streams; open ones continue. */
  protected draining = false;
  protected destroyed = false;
  protected failure: Error | undefined;
  readonly #peer: 'client' | 'server';
  readonly #maxBlockBytes: number;
  readonly #decoder = new HeaderDecoder();
  readonly #parser: FrameParser;
  /** Stream of the current DATA frame. */
  #dataStream: S | undefined;
  #dataEnds = false;
  /** A header block that is not yet complete. */
  #block: HeaderBlock | undefined;
  #tableBytes: number | undefined;

  protected constructor({ socket, peer, preface, buffers, maxBlockBytes }: FrameSessionOptions) {
    this.socket = socket;
    this.#maxBlockBytes = maxBlockBytes;
    this.#peer = peer;
    this.writer = new FrameWriter(socket, buffers);
    this.outgoing = new Outgoing(socket, this.writer, (stream) => this.sent(stream));
    const sink = {
      stopped: () => this.destroyed,
      data: (streamId: number, flags: number, length: number) => this.#data(streamId, flags, length),
      dataPart: (chunk: Buffer) => this.#dataStream?.received(chunk),
      dataOver: () => this.#dataOver(),
      frame: (type: number, flags: number, streamId: number, payload: Buffer) =>
        this.#frame(type, flags, streamId, payload),
    };
    this.#parser = new FrameParser(sink, preface);
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('error', (error: Error) => {
      this.failure ??= error;
    });
    socket.on('end', () => this.destroy(undefined));
    socket.on('close', () => this.lost());
  }

  /** Ends all streams; unsent data is dropped. Idempotent. */
  abstract destroy(cause: Error | undefined): void;

  /** The connection is closed. */
  protected abstract lost(): void;

  /** The peer violated the protocol, and the connection ends. */
  protected abstract broken(error: Error): void;

  /** The last stream of the peer that was acted upon; 0 if the peer opens none. */
  protected abstract readonly lastStreamId: number;

  /** Throws a ConnectionError for a frame on a stream that was never opened. */
  protected abstract requireOpened(streamId: number): void;

  /**
   * A complete header block. `stream`: the open stream, if any. `listBytes`: the size that
   * SETTINGS_MAX_HEADER_LIST_SIZE limits.
   */
  protected abstract headers(block: ReceivedHeaders, stream: S | undefined): void;

  /** Bytes of DATA frames, for the connection's window; `stream` is undefined if it has ended. */
  protected abstract took(length: number, stream: S | undefined): void;

  /** The peer has ended its direction of the stream. */
  protected abstract over(stream: S): void;

  /** All data of the stream was sent. */
  protected abstract sent(stream: S): void;

  protected abstract resetByPeer(stream: S, code: number): void;

  protected abstract settled(settings: PeerSettings): void;

  protected abstract goneAway(lastStreamId: number, code: number): void;

  /** Replies to a PING. */
  protected pinged(payload: Buffer): void {
    this.writer.answer(pongFrame(payload));
  }

  /** Payload of a PING reply. */
  protected ponged(_payload: Buffer): void {}

  /** A frame without effect on any stream arrived; their number is limited. */
  protected idle(): void {}

  /** Data or headers arrived for a stream that has ended. */
  protected late(streamId: number): void {
    const how = this.closedStreams.get(streamId);
    if (how === 'ended') throw new ConnectionError(resetCode.STREAM_CLOSED, 'frame for a stream that has ended');
    if (how === 'reset') this.writer.answer(numberFrame(frameType.RST_STREAM, streamId, resetCode.STREAM_CLOSED));
    // Otherwise it was sent before the peer knew that this side gave the stream up.
  }

  #received(chunk: Buffer): void {
    if (this.destroyed) return;
    try {
      this.#parser.push(chunk);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.writer.send(goAwayFrame(this.lastStreamId, error.code));
      this.writer.flush();
      this.broken(new Error(`HTTP/2: ${error.message}`));
    }
  }

  #data(streamId: number, flags: number, length: number): void {
    this.#expect(frameType.DATA, streamId);
    this.requireOpened(streamId);
    const stream = this.streams.get(streamId);
    this.#dataStream = stream;
    this.took(length, stream);
    if (stream === undefined) this.late(streamId);
    this.#dataEnds = (flags & frameFlag.END_STREAM) !== 0;
    if (length === 0 && !this.#dataEnds) this.idle();
  }

  #dataOver(): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    if (stream === undefined || !this.streams.has(stream.id)) return;
    // An empty frame counts, too.
    const fault = this.#dataEnds ? stream.form.dataEnd() : stream.form.data(0);
    if (fault !== undefined) stream.fail(resetCode.PROTOCOL_ERROR, fault);
    else if (this.#dataEnds) this.over(stream);
  }

  /** Throws if this frame type is not allowed now. */
  #expect(type: number, streamId: number): void {
    if (!this.ready && type !== frameType.SETTINGS) {
      throw new ConnectionError(resetCode.PROTOCOL_ERROR, `the ${this.#peer} did not start with SETTINGS`);
    }
    if (this.#block !== undefined && (type !== frameType.CONTINUATION || streamId !== this.#block.streamId)) {
      throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'header block was interrupted');
    }
  }

  #frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#expect(type, streamId);
    switch (type) {
      case frameType.DATA:
        return this.#paddedData(flags, streamId, payload);
      case frameType.HEADERS:
        return this.#headers(flags, streamId, payload);
      case frameType.PRIORITY:
        // PRIORITY has no effect, but must be well-formed.
        if (streamId === 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'PRIORITY without a stream');
        requireLength(payload, 5, 'PRIORITY');
        return this.idle();
      case frameType.CONTINUATION:
        return this.#continuation(flags, payload);
      case frameType.RST_STREAM:
        return this.#reset(streamId, payload);
      case frameType.SETTINGS:
        requireNoStream(streamId, 'SETTINGS');
        return this.#settings(flags, payload);
      case frameType.PING:
        requireNoStream(streamId, 'PING');
        return this.#pinged(flags, payload);
      case frameType.GOAWAY:
        requireNoStream(streamId, 'GOAWAY');
        if (payload.length < 8) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'malformed GOAWAY');
        this.idle();
        return this.goneAway(payload.readUInt32BE(0) & maxStreamId, payload.readUInt32BE(4));
      case frameType.WINDOW_UPDATE:
        return this.#windowUpdate(streamId, payload);
      case frameType.PUSH_PROMISE:
        throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'server push is disabled');
      default:
        // Unknown frame types are ignored.
        return this.idle();
    }
  }

  #paddedData(flags: number, streamId: number, payload: Buffer): void {
    const content = unpadded(payload, flags, false);
    this.#data(streamId, flags, payload.length);
    const stream = this.#dataStream;
    if (content.length > 0) stream?.received(content);
    stream?.padded(payload.length - content.length);
    this.#dataOver();
  }

  #headers(flags: number, streamId: number, payload: Buffer): void {
    const bytes = unpadded(payload, flags, true);
    const ends = (flags & frameFlag.END_STREAM) !== 0;
    if ((flags & frameFlag.END_HEADERS) !== 0) return this.#headersOver(streamId, bytes, ends);
    this.#block = new HeaderBlock(streamId, ends, bytes, this.#maxBlockBytes);
  }

  #continuation(flags: number, payload: Buffer): void {
    const block = this.#block;
    if (block === undefined) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'CONTINUATION without HEADERS');
    block.add(payload);
    if ((flags & frameFlag.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#headersOver(block.streamId, block.bytes, block.ends);
  }

  #headersOver(streamId: number, block: Buffer, ends: boolean): void {
    // Decode even if the stream has ended: later blocks depend on this one.
    const fields = this.#decoder.decode(block);
    const { listBytes, truncated } = this.#decoder;
    // An oversized request can be refused; an oversized response is unusable.
    if (truncated && this.#peer === 'server') {
      throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'headers are too long');
    }
    this.headers({ streamId, fields, ends, listBytes }, this.streams.get(streamId));
  }

  #reset(streamId: number, payload: Buffer): void {
    requireLength(payload, 4, 'RST_STREAM');
    this.requireOpened(streamId);
    const stream = this.streams.get(streamId);
    if (stream === undefined) return;
    this.closedStreams.add(streamId, 'reset');
    this.resetByPeer(stream, payload.readUInt32BE(0));
  }

  #settings(flags: number, payload: Buffer): void {
    if ((flags & frameFlag.ACK) !== 0) {
      requireLength(payload, 0, 'SETTINGS acknowledgement');
      if (this.ready) return this.idle();
      throw new ConnectionError(resetCode.PROTOCOL_ERROR, `the ${this.#peer} started with a SETTINGS acknowledgement`);
    }
    const settings = readSettings(payload, this.#peer);
    const { frameBytes, initialWindow, tableBytes } = settings;
    if (frameBytes !== undefined) this.outgoing.frameBytes = frameBytes;
    if (initialWindow !== undefined) this.outgoing.resizeWindows(this.streams.values(), initialWindow);
    if (tableBytes !== undefined && tableBytes !== this.#tableBytes) {
      this.#tableBytes = tableBytes;
      this.outgoing.resizeTable();
    }
    this.writer.answer(frame(frameType.SETTINGS, frameFlag.ACK, 0, nothing));
    this.idle();
    this.ready = true;
    this.settled(settings);
    this.outgoing.pumpBlocked();
  }

  #pinged(flags: number, payload: Buffer): void {
    requireLength(payload, pingBytes, 'PING');
    this.idle();
    if ((flags & frameFlag.ACK) !== 0) return this.ponged(payload);
    this.pinged(payload);
  }

  #windowUpdate(streamId: number, payload: Buffer): void {
    requireLength(payload, 4, 'WINDOW_UPDATE');
    const increment = payload.readUInt32BE(0) & maxWindow;
    if (streamId === 0) return this.outgoing.grow(increment);
    this.requireOpened(streamId);
    const stream = this.streams.get(streamId);
    if (stream === undefined) return;
    if (increment === 0) return stream.fail(resetCode.PROTOCOL_ERROR, 'WINDOW_UPDATE with increment 0');
    stream.window += increment;
    if (stream.window > maxWindow) return stream.fail(resetCode.FLOW_CONTROL_ERROR, 'window is too large');
    if (this.outgoing.blocked.has(stream)) this.outgoing.pump(stream);
  }
}

export interface ReceivedHeaders {
  readonly streamId: number;
  readonly fields: HeaderField[];
  /** No more data follows on the stream. */
  readonly ends: boolean;
  readonly listBytes: number;
}

/** Limit of CONTINUATION frames: a block may be long, but not split into tiny frames. */
const maxContinuations = 64;

/** A header block in several frames (RFC 9113, 6.10). */
class HeaderBlock {
  readonly streamId: number;
  /** No more data follows on the stream. */
  readonly ends: boolean;
  readonly #maxBytes: number;
  #bytes: Buffer;
  #continuations = 0;

  /** `maxBytes`: limit over all frames. */
  constructor(streamId: number, ends: boolean, bytes: Buffer, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.streamId = streamId;
    this.ends = ends;
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Throws a ConnectionError if the block is too large. */
  add(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    this.#continuations++;
    if (this.#bytes.length > this.#maxBytes || this.#continuations > maxContinuations) {
      throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'headers are too long');
    }
  }
}
