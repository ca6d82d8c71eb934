/**
 * The client's side of one HTTP/2 connection (RFC 9113), as much as gRPC needs of it.
 *
 * Why not Node.js's own: a stream there is a Duplex with its events, timers and checks of every header, which costs about
 * 100 µs for each call; here it is one object with three callbacks, and a call is one write. Every write of the API server
 * and every group of consistent reads makes such a call.
 *
 * Flow: requests that fit leave in one piece, others as the peer's windows allow. Frames are answered in the order of their
 * arrival; data is passed on as views of what was received.
 */
import type { Duplex } from 'node:stream';
import {
  defaultFrameBytes,
  defaultWindowBytes,
  frame,
  frameFlag,
  frameHeadBytes,
  frameType,
  numberFrame,
  preface,
  resetCode,
  setting,
  settingsFrame,
  unpadded,
  writeFrameHead,
} from '#storage/etcd/http2/frames.js';
import { HeaderBlockError, HeaderDecoder, type HeaderField } from '#storage/etcd/http2/hpack.js';
import { Http2Stream, type StreamHandler, type StreamOwner } from '#storage/etcd/http2/stream.js';

export interface SessionHandler {
  /** The peer has said what it allows: streams may be opened. */
  ready(): void;
  /** The peer takes no more streams; those under way go on. */
  draining(): void;
  /** Called once, last. */
  closed(cause: Error | undefined): void;
}

export interface SessionOptions {
  /** Connected; over TLS with `h2` agreed upon. */
  readonly socket: Duplex;
  readonly handler: SessionHandler;
  /** Bytes that one stream, and all together, may receive before they are taken. */
  readonly streamWindowBytes: number;
  readonly sessionWindowBytes: number;
}

/** Bytes of one block of headers, over all its frames. */
const maxHeaderBlockBytes = 64 * 1024;
/** Frames of fewer bytes are put together into one write; copying them costs less than writing them apart. */
const joinedBytes = 64 * 1024;
const maxWindow = 2 ** 31 - 1;
/** The last number that a stream can have. */
const maxStreamId = 2 ** 31 - 1;
const nothing = Buffer.alloc(0);

export class Http2Session implements StreamOwner {
  readonly #options: SessionOptions;
  readonly #decoder = new HeaderDecoder();
  readonly #streams = new Map<number, Http2Stream>();
  /** Opened while the peer had as many as it allows. */
  readonly #waiting = new Set<Http2Stream>();
  /** With data that the windows had no room for. */
  readonly #blocked = new Set<Http2Stream>();
  #nextId = 1;
  #ready = false;
  #draining = false;
  #destroyed = false;
  #failure: Error | undefined;

  #maxStreams = Number.POSITIVE_INFINITY;
  #frameBytes = defaultFrameBytes;
  #initialWindow = defaultWindowBytes;
  #window = defaultWindowBytes;

  #out: Buffer[] = [];
  /** Received, and not yet given back to the peer's window. */
  #taken = 0;
  /** The beginning of a frame. */
  #rest: Buffer = nothing;
  /** Bytes that the present DATA frame still has. */
  #dataLeft = 0;
  #dataStream: Http2Stream | undefined;
  #dataEnds = false;
  /** The block whose end is still to come. */
  #block: { readonly streamId: number; readonly ends: boolean; bytes: Buffer } | undefined;
  #ping: (() => void) | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { socket, streamWindowBytes, sessionWindowBytes } = options;
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('error', (error: Error) => {
      this.#failure ??= error;
    });
    socket.on('end', () => this.destroy(undefined));
    socket.on('close', () => this.#closed());
    this.#send(preface);
    this.#send(
      settingsFrame([
        [setting.ENABLE_PUSH, 0],
        [setting.INITIAL_WINDOW_SIZE, streamWindowBytes],
      ]),
    );
    this.#send(numberFrame(frameType.WINDOW_UPDATE, 0, sessionWindowBytes - defaultWindowBytes));
  }

  /** True when new streams are to be opened elsewhere. */
  get closed(): boolean {
    return this.#draining || this.#destroyed;
  }

  /** Sends the headers, and `body` with them. `ends`: nothing follows it. */
  open(head: Buffer, body: Buffer, ends: boolean, handler: StreamHandler): Http2Stream {
    const stream = new Http2Stream(this, handler, head);
    stream.pending = body;
    stream.ends = ends;
    if (this.closed) queueMicrotask(() => stream.finish({ code: undefined, sent: false, cause: this.#failure }));
    else if (this.#streams.size >= this.#maxStreams) this.#waiting.add(stream);
    else this.#start(stream);
    return stream;
  }

  /** One at a time; `done` is not called when the session is closed meanwhile. */
  ping(done: () => void): void {
    this.#ping = done;
    this.#send(frame(frameType.PING, 0, 0, Buffer.alloc(8)));
  }

  /** Ends all streams. Idempotent. */
  destroy(cause: Error | undefined): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#failure ??= cause;
    this.#flush();
    this.#options.socket.destroy();
  }

  write(stream: Http2Stream, bytes: Buffer, ends: boolean): void {
    stream.pending = stream.pending.length === 0 ? bytes : Buffer.concat([stream.pending, bytes]);
    stream.ends = ends;
    if (stream.id !== 0) this.#pump(stream);
  }

  reset(stream: Http2Stream, code: number): void {
    if (stream.id !== 0 && this.#streams.has(stream.id)) this.#send(numberFrame(frameType.RST_STREAM, stream.id, code));
    this.#forget(stream);
  }

  giveBack(stream: Http2Stream): void {
    if (stream.taken * 2 < this.#options.streamWindowBytes || !this.#streams.has(stream.id)) return;
    this.#send(numberFrame(frameType.WINDOW_UPDATE, stream.id, stream.taken));
    stream.taken = 0;
  }

  withinWindow(stream: Http2Stream): boolean {
    return stream.unread + stream.taken <= this.#options.streamWindowBytes;
  }

  #start(stream: Http2Stream): void {
    const streamId = this.#nextId;
    this.#nextId += 2;
    stream.id = streamId;
    stream.window = this.#initialWindow;
    this.#streams.set(streamId, stream);
    const { head, pending, ends } = stream;
    const empty = pending.length === 0;
    const flags = frameFlag.END_HEADERS | (empty && ends ? frameFlag.END_STREAM : 0);
    this.#send(frame(frameType.HEADERS, flags, streamId, head));
    if (empty) stream.done = ends;
    else this.#pump(stream);
    if (this.#nextId > maxStreamId) this.#drain();
  }

  /** Sends as much of the stream's data as there is room for. */
  #pump(stream: Http2Stream): void {
    const { pending } = stream;
    let at = 0;
    while (at < pending.length) {
      const length = Math.min(pending.length - at, this.#frameBytes, stream.window, this.#window);
      if (length <= 0) break;
      const ends = stream.ends && at + length === pending.length;
      const flags = ends ? frameFlag.END_STREAM : 0;
      const head = Buffer.allocUnsafe(frameHeadBytes);
      writeFrameHead(head, 0, { type: frameType.DATA, flags, streamId: stream.id, length });
      this.#send(head);
      this.#send(length === pending.length ? pending : pending.subarray(at, at + length));
      at += length;
      stream.window -= length;
      this.#window -= length;
      stream.done = ends;
    }
    stream.pending = at === pending.length ? nothing : pending.subarray(at);
    if (at < pending.length) this.#blocked.add(stream);
    else this.#blocked.delete(stream);
  }

  #pumpBlocked(): void {
    for (const stream of this.#blocked) {
      if (this.#window <= 0) return;
      this.#pump(stream);
    }
  }

  /** At the end of the present task, so that calls made together leave together. */
  #send(bytes: Buffer): void {
    if (this.#destroyed) return;
    if (this.#out.length === 0) queueMicrotask(() => this.#flush());
    this.#out.push(bytes);
  }

  #flush(): void {
    const out = this.#out;
    if (out.length === 0) return;
    this.#out = [];
    const { socket } = this.#options;
    if (!socket.writable) return;
    let length = 0;
    for (const part of out) length += part.length;
    if (length <= joinedBytes) {
      socket.write(out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out, length));
      return;
    }
    socket.cork();
    for (const part of out) socket.write(part);
    socket.uncork();
  }

  #received(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = nothing;
    let at = 0;
    while (!this.#destroyed) {
      if (this.#dataLeft > 0) {
        const end = Math.min(bytes.length, at + this.#dataLeft);
        if (end === at) break;
        this.#dataLeft -= end - at;
        this.#dataStream?.received(bytes.subarray(at, end));
        at = end;
        if (this.#dataLeft === 0) this.#dataOver();
        continue;
      }
      if (bytes.length - at < frameHeadBytes) break;
      const length = bytes.readUIntBE(at, 3);
      if (length > defaultFrameBytes) return this.#refuse(resetCode.FRAME_SIZE_ERROR, 'a frame is too large');
      const type = bytes[at + 3] as number;
      const flags = bytes[at + 4] as number;
      const streamId = bytes.readUInt32BE(at + 5) & maxStreamId;
      // Data is passed on as it comes, whole frames of it need not be there.
      if (type === frameType.DATA && (flags & frameFlag.PADDED) === 0 && this.#block === undefined) {
        at += frameHeadBytes;
        this.#data(streamId, flags, length);
        continue;
      }
      const end = at + frameHeadBytes + length;
      if (end > bytes.length) break;
      this.#frame(type, flags, streamId, bytes.subarray(at + frameHeadBytes, end));
      at = end;
    }
    if (at < bytes.length) this.#rest = bytes.subarray(at);
  }

  #data(streamId: number, flags: number, length: number): void {
    if (!this.#opened(streamId)) return this.#refuse(resetCode.PROTOCOL_ERROR, 'data for a stream that was not opened');
    this.#take(length);
    this.#dataStream = this.#streams.get(streamId);
    this.#dataLeft = length;
    this.#dataEnds = (flags & frameFlag.END_STREAM) !== 0;
    if (length === 0) this.#dataOver();
  }

  #dataOver(): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    if (this.#dataEnds && stream !== undefined) this.#over(stream);
  }

  /** What has come counts as taken from the connection; only its stream can be held up by a slow reader. */
  #take(length: number): void {
    const { sessionWindowBytes } = this.#options;
    this.#taken += length;
    if (this.#taken * 2 < sessionWindowBytes) return;
    this.#send(numberFrame(frameType.WINDOW_UPDATE, 0, this.#taken));
    this.#taken = 0;
  }

  #frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (!this.#ready && type !== frameType.SETTINGS) {
      return this.#refuse(resetCode.PROTOCOL_ERROR, 'the server does not begin as HTTP/2 does');
    }
    if (this.#block !== undefined && (type !== frameType.CONTINUATION || streamId !== this.#block.streamId)) {
      return this.#refuse(resetCode.PROTOCOL_ERROR, 'a header block was interrupted');
    }
    switch (type) {
      case frameType.DATA:
        return this.#paddedData(flags, streamId, payload);
      case frameType.HEADERS:
        return this.#headers(flags, streamId, payload);
      case frameType.CONTINUATION:
        return this.#continuation(flags, payload);
      case frameType.RST_STREAM:
        return this.#resetByPeer(streamId, payload);
      case frameType.SETTINGS:
        return this.#settings(flags, payload);
      case frameType.PING:
        return this.#pinged(flags, payload);
      case frameType.GOAWAY:
        return this.#goAway(payload);
      case frameType.WINDOW_UPDATE:
        return this.#windowUpdate(streamId, payload);
      case frameType.PUSH_PROMISE:
        return this.#refuse(resetCode.PROTOCOL_ERROR, 'a push that was ruled out');
      default:
        // PRIORITY, and what is not known, means nothing here.
        return undefined;
    }
  }

  #paddedData(flags: number, streamId: number, payload: Buffer): void {
    const content = unpadded(payload, flags, false);
    if (content === undefined) return this.#refuse(resetCode.PROTOCOL_ERROR, 'more padding than data');
    this.#data(streamId, flags, payload.length);
    const stream = this.#dataStream;
    this.#dataLeft = 0;
    // Padding is taken at once.
    if (stream !== undefined) stream.taken += payload.length - content.length;
    if (content.length > 0) stream?.received(content);
    if (payload.length > 0) this.#dataOver();
  }

  #headers(flags: number, streamId: number, payload: Buffer): void {
    const bytes = unpadded(payload, flags, true);
    if (bytes === undefined || !this.#opened(streamId)) {
      return this.#refuse(resetCode.PROTOCOL_ERROR, 'headers that are malformed, or for a stream that was not opened');
    }
    const ends = (flags & frameFlag.END_STREAM) !== 0;
    if ((flags & frameFlag.END_HEADERS) !== 0) return this.#headersOver(streamId, bytes, ends);
    this.#block = { streamId, ends, bytes };
  }

  #continuation(flags: number, payload: Buffer): void {
    const block = this.#block;
    if (block === undefined) return this.#refuse(resetCode.PROTOCOL_ERROR, 'headers that continue nothing');
    block.bytes = Buffer.concat([block.bytes, payload]);
    if (block.bytes.length > maxHeaderBlockBytes) {
      return this.#refuse(resetCode.ENHANCE_YOUR_CALM, 'headers are too long');
    }
    if ((flags & frameFlag.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#headersOver(block.streamId, block.bytes, block.ends);
  }

  #headersOver(streamId: number, block: Buffer, ends: boolean): void {
    let fields: HeaderField[];
    try {
      // Also for a stream that is over: later blocks build upon this one.
      fields = this.#decoder.decode(block);
    } catch (error) {
      if (!(error instanceof HeaderBlockError)) throw error;
      return this.#refuse(resetCode.COMPRESSION_ERROR, error.message);
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.handler.headers(fields);
    if (ends) this.#over(stream);
  }

  /** The peer has ended its side. What has not been sent by now is not wanted any more. */
  #over(stream: Http2Stream): void {
    if (!this.#streams.has(stream.id)) return;
    if (!stream.done) this.#send(numberFrame(frameType.RST_STREAM, stream.id, resetCode.CANCEL));
    this.#forget(stream);
    stream.finish(undefined);
  }

  #resetByPeer(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) return this.#refuse(resetCode.FRAME_SIZE_ERROR, 'a malformed reset');
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    this.#forget(stream);
    const code = payload.readUInt32BE(0);
    stream.finish({ code, sent: code !== resetCode.REFUSED_STREAM, cause: undefined });
  }

  #settings(flags: number, payload: Buffer): void {
    if ((flags & frameFlag.ACK) !== 0) return;
    if (payload.length % 6 !== 0) return this.#refuse(resetCode.FRAME_SIZE_ERROR, 'malformed settings');
    for (let at = 0; at < payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      switch (payload.readUInt16BE(at)) {
        case setting.MAX_CONCURRENT_STREAMS:
          this.#maxStreams = value;
          break;
        case setting.MAX_FRAME_SIZE:
          this.#frameBytes = Math.max(value, defaultFrameBytes);
          break;
        case setting.INITIAL_WINDOW_SIZE:
          if (value > maxWindow) return this.#refuse(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
          for (const stream of this.#streams.values()) stream.window += value - this.#initialWindow;
          this.#initialWindow = value;
          break;
      }
    }
    this.#send(frame(frameType.SETTINGS, frameFlag.ACK, 0, nothing));
    if (!this.#ready) {
      this.#ready = true;
      this.#options.handler.ready();
    }
    this.#startWaiting();
    this.#pumpBlocked();
  }

  #pinged(flags: number, payload: Buffer): void {
    if (payload.length !== 8) return this.#refuse(resetCode.FRAME_SIZE_ERROR, 'a malformed ping');
    if ((flags & frameFlag.ACK) === 0) return this.#send(frame(frameType.PING, frameFlag.ACK, 0, payload));
    const done = this.#ping;
    this.#ping = undefined;
    done?.();
  }

  #goAway(payload: Buffer): void {
    if (payload.length < 8) return this.#refuse(resetCode.FRAME_SIZE_ERROR, 'a malformed farewell');
    const last = payload.readUInt32BE(0) & maxStreamId;
    const code = payload.readUInt32BE(4);
    const failure = {
      code: code === resetCode.NO_ERROR ? resetCode.REFUSED_STREAM : code,
      sent: false,
      cause: undefined,
    };
    // Before anybody can try again: not here.
    this.#drain();
    for (const stream of this.#streams.values()) {
      if (stream.id <= last) continue;
      this.#forget(stream);
      stream.finish(failure);
    }
    this.#closeWhenIdle();
  }

  #windowUpdate(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) return this.#refuse(resetCode.FRAME_SIZE_ERROR, 'a malformed window');
    const increment = payload.readUInt32BE(0) & maxWindow;
    if (streamId === 0) {
      this.#window += increment;
      if (this.#window > maxWindow) return this.#refuse(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
      return this.#pumpBlocked();
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.window += increment;
    if (stream.window > maxWindow) return this.#refuse(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
    if (this.#blocked.has(stream)) this.#pump(stream);
  }

  #opened(streamId: number): boolean {
    return streamId % 2 === 1 && streamId < this.#nextId;
  }

  #forget(stream: Http2Stream): void {
    this.#waiting.delete(stream);
    this.#blocked.delete(stream);
    if (!this.#streams.delete(stream.id)) return;
    if (this.#waiting.size > 0) this.#startWaiting();
    if (this.#draining) this.#closeWhenIdle();
  }

  #startWaiting(): void {
    for (const stream of this.#waiting) {
      if (this.#streams.size >= this.#maxStreams || this.#draining) return;
      this.#waiting.delete(stream);
      this.#start(stream);
    }
  }

  #drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#options.handler.draining();
    for (const stream of this.#waiting) {
      this.#forget(stream);
      stream.finish({ code: resetCode.REFUSED_STREAM, sent: false, cause: undefined });
    }
  }

  #closeWhenIdle(): void {
    if (this.#streams.size === 0) this.destroy(undefined);
  }

  /** The peer breaks the protocol: nothing that it says can be relied upon. */
  #refuse(code: number, why: string): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(code, 4);
    this.#send(frame(frameType.GOAWAY, 0, 0, payload));
    this.destroy(new Error(`HTTP/2: ${why}`));
  }

  #closed(): void {
    this.#destroyed = true;
    const failure = { code: undefined, cause: this.#failure };
    const streams = [...this.#streams.values()];
    const waiting = [...this.#waiting];
    this.#streams.clear();
    this.#waiting.clear();
    this.#blocked.clear();
    this.#options.handler.closed(this.#failure);
    for (const stream of streams) stream.finish({ ...failure, sent: true });
    for (const stream of waiting) stream.finish({ ...failure, sent: false });
  }
}
