/**
 * The client's side of one HTTP/2 connection (RFC 9113), as much as the API and gRPC need of it.
 *
 * Why not Node.js's own: a stream there is a Duplex with its events, timers and checks of every header, which costs about
 * nine times the CPU for each call (test/bench/http2.bench.ts: 7 µs and 58 µs); here it is one object with three callbacks,
 * and a call is one write. Every write of the API server and every group of consistent reads makes such a call, and every
 * request of a daemon to the API server.
 *
 * Flow: requests that fit leave in one piece, others as the peer's windows allow. Frames are answered in the order of their
 * arrival; data is passed on as views of what was received.
 */
import type { Duplex } from 'node:stream';
import { ClosedStreams } from '#http2/closed-streams.js';
import { ConnectionError } from '#http2/connection-error.js';
import { FrameParser } from '#http2/frame-parser.js';
import { FrameWriter } from '#http2/frame-writer.js';
import {
  defaultFrameBytes,
  defaultWindowBytes,
  frame,
  frameFlag,
  frameHeadBytes,
  frameType,
  maxStreamId,
  maxWindow,
  numberFrame,
  preface,
  requireLength,
  requireNoStream,
  resetCode,
  setting,
  settingsFrame,
  unpadded,
  writeFrameHead,
} from '#http2/frames.js';
import { HeaderBlock } from '#http2/header-block.js';
import { HeaderDecoder } from '#http2/hpack.js';
import { readSettings } from '#http2/peer-settings.js';
import { Http2Stream, type StreamHandler, type StreamOwner } from '#http2/stream.js';
import { StreamTable } from '#http2/stream-table.js';

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

const nothing = Buffer.alloc(0);
const pingPayload = Buffer.alloc(8);

export class Http2Session implements StreamOwner {
  readonly #options: SessionOptions;
  readonly #decoder = new HeaderDecoder();
  readonly #parser: FrameParser;
  readonly #writer: FrameWriter;
  readonly #closedStreams = new ClosedStreams();
  readonly #streams = new StreamTable<Http2Stream>();
  /** Opened while the peer had as many as it allows. */
  readonly #waiting = new Set<Http2Stream>();
  /** With data that the windows had no room for. */
  readonly #blocked = new Set<Http2Stream>();
  #nextId = 1;
  /** The last stream that the peer has said it acts on. */
  #lastId = maxStreamId;
  #ready = false;
  #draining = false;
  #destroyed = false;
  #failure: Error | undefined;

  #maxStreams = Number.POSITIVE_INFINITY;
  #frameBytes = defaultFrameBytes;
  #initialWindow = defaultWindowBytes;
  #window = defaultWindowBytes;

  /** Received, and not yet given back to the peer's window. */
  #taken = 0;
  /** Of the present DATA frame. */
  #dataStream: Http2Stream | undefined;
  #dataEnds = false;
  /** The block whose end is still to come. */
  #block: HeaderBlock | undefined;
  #ping: (() => void) | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { socket, streamWindowBytes, sessionWindowBytes } = options;
    this.#writer = new FrameWriter(socket);
    this.#parser = new FrameParser({
      stopped: () => this.#destroyed,
      data: (streamId, flags, length) => this.#data(streamId, flags, length),
      dataPart: (chunk) => this.#dataStream?.received(chunk),
      dataOver: () => this.#dataOver(),
      frame: (type, flags, streamId, payload) => this.#frame(type, flags, streamId, payload),
    });
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('error', (error: Error) => {
      this.#failure ??= error;
    });
    socket.on('end', () => this.destroy(undefined));
    socket.on('close', () => this.#closed());
    this.#writer.send(preface);
    this.#writer.send(
      settingsFrame([
        [setting.ENABLE_PUSH, 0],
        [setting.INITIAL_WINDOW_SIZE, streamWindowBytes],
      ]),
    );
    this.#writer.send(numberFrame(frameType.WINDOW_UPDATE, 0, sessionWindowBytes - defaultWindowBytes));
  }

  /** True when new streams are to be opened elsewhere. */
  get closed(): boolean {
    return this.#draining || this.#destroyed;
  }

  /** As the peer allows; without a bound until it has said so. */
  get maxStreams(): number {
    return this.#maxStreams;
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
    this.#writer.send(frame(frameType.PING, 0, 0, pingPayload));
  }

  /** Ends all streams; what has not been written by now never is. Idempotent. */
  destroy(cause: Error | undefined): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#failure ??= cause;
    this.#writer.end();
    this.#options.socket.destroy();
  }

  write(stream: Http2Stream, bytes: Buffer, ends: boolean): void {
    stream.pending = stream.pending.length === 0 ? bytes : Buffer.concat([stream.pending, bytes]);
    stream.ends = ends;
    if (stream.id !== 0) this.#pump(stream);
  }

  reset(stream: Http2Stream, code: number): void {
    if (stream.id !== 0 && this.#streams.has(stream.id))
      this.#writer.send(numberFrame(frameType.RST_STREAM, stream.id, code));
    this.#forget(stream);
  }

  giveBack(stream: Http2Stream): void {
    if (stream.taken * 2 < this.#options.streamWindowBytes || !this.#streams.has(stream.id)) return;
    this.#writer.send(numberFrame(frameType.WINDOW_UPDATE, stream.id, stream.taken));
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
    this.#streams.add(stream);
    const { head, pending, ends } = stream;
    const empty = pending.length === 0;
    this.#sendHead(streamId, head, empty && ends ? frameFlag.END_STREAM : 0);
    if (empty) stream.done = ends;
    else this.#pump(stream);
    if (this.#nextId > maxStreamId) this.#drain();
  }

  /** In as many frames as the peer's bound asks for; hardly any head needs two. */
  #sendHead(streamId: number, head: Buffer, endsStream: number): void {
    let at = 0;
    do {
      const end = Math.min(head.length, at + this.#frameBytes);
      const last = end === head.length ? frameFlag.END_HEADERS : 0;
      const part = at === 0 && last !== 0 ? head : head.subarray(at, end);
      if (at === 0) this.#writer.send(frame(frameType.HEADERS, last | endsStream, streamId, part));
      else this.#writer.send(frame(frameType.CONTINUATION, last, streamId, part));
      at = end;
    } while (at < head.length);
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
      this.#writer.send(head);
      this.#writer.send(length === pending.length ? pending : pending.subarray(at, at + length));
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

  #received(chunk: Buffer): void {
    try {
      this.#parser.push(chunk);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.#leave(error);
    }
  }

  #data(streamId: number, flags: number, length: number): void {
    this.#expect(frameType.DATA, streamId);
    this.#requireOpened(streamId);
    this.#take(length);
    this.#dataStream = this.#streams.get(streamId);
    if (this.#dataStream === undefined) this.#late(streamId);
    this.#dataEnds = (flags & frameFlag.END_STREAM) !== 0;
  }

  #dataOver(): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    if (stream === undefined) return;
    // Also where it is empty.
    const fault = this.#dataEnds ? stream.form.dataEnd() : stream.form.data(0);
    if (fault !== undefined && this.#streams.has(stream.id)) stream.fail(resetCode.PROTOCOL_ERROR, fault);
    if (this.#dataEnds) this.#over(stream);
  }

  /** Data or headers for a stream that is over. */
  #late(streamId: number): void {
    const how = this.#closedStreams.get(streamId);
    if (how === 'ended') throw new ConnectionError(resetCode.STREAM_CLOSED, 'more for a stream that had ended');
    if (how === 'reset') this.#writer.answer(numberFrame(frameType.RST_STREAM, streamId, resetCode.STREAM_CLOSED));
    // Otherwise it was under way when this side gave the stream up.
  }

  /** What has come counts as taken from the connection; only its stream can be held up by a slow reader. */
  #take(length: number): void {
    const { sessionWindowBytes } = this.#options;
    this.#taken += length;
    if (this.#taken * 2 < sessionWindowBytes) return;
    this.#writer.send(numberFrame(frameType.WINDOW_UPDATE, 0, this.#taken));
    this.#taken = 0;
  }

  /** Throws where no frame of that type may come now. */
  #expect(type: number, streamId: number): void {
    if (!this.#ready && type !== frameType.SETTINGS) {
      throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'the server does not begin as HTTP/2 does');
    }
    if (this.#block !== undefined && (type !== frameType.CONTINUATION || streamId !== this.#block.streamId)) {
      throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a header block was interrupted');
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
        // Means nothing here, but must be well-formed.
        if (streamId === 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a priority of no stream');
        return requireLength(payload, 5, 'priority');
      case frameType.CONTINUATION:
        return this.#continuation(flags, payload);
      case frameType.RST_STREAM:
        return this.#resetByPeer(streamId, payload);
      case frameType.SETTINGS:
        requireNoStream(streamId, 'settings');
        return this.#settings(flags, payload);
      case frameType.PING:
        requireNoStream(streamId, 'ping');
        return this.#pinged(flags, payload);
      case frameType.GOAWAY:
        requireNoStream(streamId, 'farewell');
        return this.#goAway(payload);
      case frameType.WINDOW_UPDATE:
        return this.#windowUpdate(streamId, payload);
      case frameType.PUSH_PROMISE:
        throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a push that was ruled out');
      default:
        // What is not known means nothing here.
        return undefined;
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
    this.#requireOpened(streamId);
    const ends = (flags & frameFlag.END_STREAM) !== 0;
    if ((flags & frameFlag.END_HEADERS) !== 0) return this.#headersOver(streamId, bytes, ends);
    this.#block = new HeaderBlock(streamId, ends, bytes);
  }

  #continuation(flags: number, payload: Buffer): void {
    const block = this.#block;
    if (block === undefined) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'headers that continue nothing');
    block.add(payload);
    if ((flags & frameFlag.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#headersOver(block.streamId, block.bytes, block.ends);
  }

  #headersOver(streamId: number, block: Buffer, ends: boolean): void {
    // Also for a stream that is over: later blocks build upon this one.
    const fields = this.#decoder.decode(block);
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return this.#late(streamId);
    const fault = stream.form.headers(fields, ends);
    if (fault !== undefined) return stream.fail(resetCode.PROTOCOL_ERROR, fault);
    stream.handler.headers(fields);
    if (ends) this.#over(stream);
  }

  /** The peer has ended its side. What has not been sent by now is not wanted any more. */
  #over(stream: Http2Stream): void {
    if (!this.#streams.has(stream.id)) return;
    this.#closedStreams.add(stream.id, 'ended');
    if (!stream.done) this.#writer.send(numberFrame(frameType.RST_STREAM, stream.id, resetCode.CANCEL));
    this.#forget(stream);
    stream.finish(undefined);
  }

  #resetByPeer(streamId: number, payload: Buffer): void {
    requireLength(payload, 4, 'reset');
    this.#requireOpened(streamId);
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    this.#closedStreams.add(streamId, 'reset');
    this.#forget(stream);
    const code = payload.readUInt32BE(0);
    stream.finish({ code, sent: code !== resetCode.REFUSED_STREAM, cause: undefined });
  }

  #settings(flags: number, payload: Buffer): void {
    if ((flags & frameFlag.ACK) !== 0) {
      requireLength(payload, 0, 'acknowledgement');
      if (!this.#ready)
        throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a server that begins with an acknowledgement');
      return;
    }
    const { maxStreams, frameBytes, initialWindow } = readSettings(payload);
    this.#maxStreams = maxStreams ?? this.#maxStreams;
    this.#frameBytes = frameBytes ?? this.#frameBytes;
    if (initialWindow !== undefined) this.#resizeWindows(initialWindow);
    this.#writer.answer(frame(frameType.SETTINGS, frameFlag.ACK, 0, nothing));
    if (!this.#ready) {
      this.#ready = true;
      this.#options.handler.ready();
    }
    this.#startWaiting();
    this.#pumpBlocked();
  }

  #resizeWindows(initialWindow: number): void {
    for (const stream of this.#streams.values()) {
      stream.window += initialWindow - this.#initialWindow;
      if (stream.window > maxWindow) throw new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
    }
    this.#initialWindow = initialWindow;
  }

  #pinged(flags: number, payload: Buffer): void {
    requireLength(payload, pingPayload.length, 'ping');
    if ((flags & frameFlag.ACK) === 0) return this.#writer.answer(frame(frameType.PING, frameFlag.ACK, 0, payload));
    if (!payload.equals(pingPayload)) return;
    const done = this.#ping;
    this.#ping = undefined;
    done?.();
  }

  #goAway(payload: Buffer): void {
    if (payload.length < 8) throw new ConnectionError(resetCode.FRAME_SIZE_ERROR, 'a malformed farewell');
    const last = payload.readUInt32BE(0) & maxStreamId;
    const code = payload.readUInt32BE(4);
    // Streams beyond the first one may already be tried elsewhere.
    if (last > this.#lastId) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a farewell that takes one back');
    this.#lastId = last;
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
    requireLength(payload, 4, 'window');
    const increment = payload.readUInt32BE(0) & maxWindow;
    if (streamId === 0) {
      if (increment === 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a window that does not grow');
      this.#window += increment;
      if (this.#window > maxWindow) throw new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
      return this.#pumpBlocked();
    }
    this.#requireOpened(streamId);
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (increment === 0) return stream.fail(resetCode.PROTOCOL_ERROR, 'a window that does not grow');
    stream.window += increment;
    if (stream.window > maxWindow) return stream.fail(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
    if (this.#blocked.has(stream)) this.#pump(stream);
  }

  #requireOpened(streamId: number): void {
    if (streamId % 2 === 1 && streamId < this.#nextId) return;
    throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a frame for a stream that was not opened');
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

  #leave({ code, message }: ConnectionError): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(code, 4);
    this.#writer.send(frame(frameType.GOAWAY, 0, 0, payload));
    this.#writer.flush();
    this.destroy(new Error(`HTTP/2: ${message}`));
  }

  #closed(): void {
    this.#destroyed = true;
    const failure = { code: undefined, cause: this.#failure };
    const streams = this.#streams.values();
    const waiting = [...this.#waiting];
    this.#streams.clear();
    this.#waiting.clear();
    this.#blocked.clear();
    this.#options.handler.closed(this.#failure);
    for (const stream of streams) stream.finish({ ...failure, sent: true });
    for (const stream of waiting) stream.finish({ ...failure, sent: false });
  }
}
