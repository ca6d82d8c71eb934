/**
 * Client side of an HTTP/2 connection (RFC 9113), as far as the API and gRPC need it.
 *
 * Why not Node.js's own: its streams are Duplexes with events, timers and header checks, which costs about nine times
 * the CPU per call (test/bench/http2.bench.ts: 7 µs and 58 µs). Here a stream is an object with three callbacks, and a
 * call is one write. Each write of the API server, each group of consistent reads and each request of a daemon makes
 * such a call.
 *
 * Flow: requests that fit leave in one piece, larger ones as the peer's windows allow. Frames are processed in order;
 * data is passed on as views of the received buffer.
 */
import type { Duplex } from 'node:stream';
import { FrameSession, type ReceivedHeaders } from '#http/http2/frame-session.js';
import {
  ConnectionError,
  defaultWindowBytes,
  frame,
  frameType,
  maxStreamId,
  numberFrame,
  type PeerSettings,
  pongFrame,
  preface,
  resetCode,
  setting,
  settingsFrame,
} from '#http/http2/frames.js';
import type { HeaderField } from '#http/http2/hpack.js';
import { ResponseForm } from '#http/http2/message-form.js';
import { OutgoingStream } from '#http/http2/streams.js';

/** Why a stream ended early. */
export interface StreamFailure {
  /** The peer's reset code; undefined if the connection was lost. */
  readonly code: number | undefined;
  /** False if the peer certainly did not act on the request. */
  readonly sent: boolean;
  readonly cause: unknown;
}

/** Receives the events of a stream. */
export interface StreamHandler {
  headers(fields: readonly HeaderField[]): void;
  data(chunk: Buffer): void;
  /** Called once, at the end; not after `reset`. */
  ended(failure: StreamFailure | undefined): void;
}

/** What a stream needs from its session. */
export interface StreamOwner {
  write(stream: Http2Stream, bytes: Buffer, ends: boolean): void;
  reset(stream: Http2Stream, code: number): void;
  /** Returns consumed bytes to the peer's window, once they are worth a frame. */
  giveBack(stream: Http2Stream): void;
  /** False if the peer has exceeded its window. */
  withinWindow(stream: Http2Stream): boolean;
}

/** A request and its response. */
export class Http2Stream extends OutgoingStream {
  readonly handler: StreamHandler;
  readonly head: Buffer;
  /** Bytes received but not consumed. */
  unread = 0;
  /** Bytes consumed but not returned to the peer's window. */
  consumed = 0;
  readonly form = new ResponseForm();
  readonly #session: StreamOwner;
  #over = false;

  constructor(session: StreamOwner, handler: StreamHandler, head: Buffer) {
    super();
    this.#session = session;
    this.handler = handler;
    this.head = head;
  }

  /** Sends more data; no effect after the end. */
  write(bytes: Buffer): void {
    if (!this.#over) this.#session.write(this, bytes, false);
  }

  /** Cancels the stream; the handler gets no more events. Idempotent. */
  reset(code: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#session.reset(this, code);
  }

  /** The reader has consumed these bytes, so the peer may send as many more. */
  took(length: number): void {
    this.unread -= length;
    this.consumed += length;
    this.#session.giveBack(this);
  }

  /** Called by the session: data arrived. */
  received(chunk: Buffer): void {
    if (this.#over) return;
    const fault = this.form.data(chunk.length);
    if (fault !== undefined) return this.fail(resetCode.PROTOCOL_ERROR, fault);
    this.unread += chunk.length;
    if (this.#session.withinWindow(this)) return this.handler.data(chunk);
    this.fail(resetCode.FLOW_CONTROL_ERROR, 'data exceeds the window');
  }

  /** Called by the session: the peer violated the rules of a stream; the connection continues (RFC 9113, 5.4.2). */
  fail(code: number, why: string): void {
    this.#session.reset(this, code);
    this.finish({ code, sent: true, cause: new Error(`HTTP/2: ${why}`) });
  }

  /** Called by the session: padding is consumed immediately. */
  padded(length: number): void {
    this.consumed += length;
    this.#session.giveBack(this);
  }

  /** Called by the session: the stream has ended. */
  finish(failure: StreamFailure | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.handler.ended(failure);
  }
}

export interface SessionHandler {
  /** The peer's settings arrived: streams may be opened. */
  ready(): void;
  /** The peer accepts no more streams; open ones continue. */
  draining(): void;
  /** Called once, at the end. */
  closed(cause: Error | undefined): void;
}

export interface SessionOptions {
  /** Connected; over TLS with `h2` negotiated. */
  readonly socket: Duplex;
  readonly handler: SessionHandler;
  /** Bytes that one stream, and all together, may receive before they are consumed. */
  readonly streamWindowBytes: number;
  readonly sessionWindowBytes: number;
  /** Delays ping replies, one at a time; absent: replies are immediate. */
  readonly delayPong?: ((answer: () => void) => void) | undefined;
}

/** Limit of a response's header block. */
const maxBlockBytes = 64 * 1024;
const pingPayload = Buffer.alloc(8);

export class Http2Session extends FrameSession<Http2Stream> implements StreamOwner {
  readonly #options: SessionOptions;
  /** Streams waiting because the peer's limit was reached. */
  readonly #waiting = new Set<Http2Stream>();
  #nextId = 1;
  /** The last stream that the peer acts on, as its GOAWAY says. */
  #lastId = maxStreamId;
  #maxStreams = Number.POSITIVE_INFINITY;
  /** Consumed but not returned to the peer's window. */
  #consumed = 0;
  #ping: (() => void) | undefined;
  /** A delayed ping reply is pending. */
  #ponging = false;
  /** The handler was told that the session is ready. */
  #readyReported = false;
  protected readonly lastStreamId = 0;

  constructor(options: SessionOptions) {
    super({ socket: options.socket, peer: 'server', maxBlockBytes });
    this.#options = options;
    const { streamWindowBytes, sessionWindowBytes } = options;
    this.writer.send(preface);
    this.writer.send(
      settingsFrame([
        [setting.ENABLE_PUSH, 0],
        [setting.INITIAL_WINDOW_SIZE, streamWindowBytes],
      ]),
    );
    this.writer.send(numberFrame(frameType.WINDOW_UPDATE, 0, sessionWindowBytes - defaultWindowBytes));
  }

  /** True if new streams need another connection. */
  get closed(): boolean {
    return this.draining || this.destroyed;
  }

  /** The peer's limit; infinite until its settings arrive. */
  get maxStreams(): number {
    return this.#maxStreams;
  }

  /** Sends headers with `body`. `ends`: no more data follows. */
  open(head: Buffer, body: Buffer, ends: boolean, handler: StreamHandler): Http2Stream {
    const stream = new Http2Stream(this, handler, head);
    stream.pending = body;
    stream.ends = ends;
    if (this.closed) queueMicrotask(() => stream.finish({ code: undefined, sent: false, cause: this.failure }));
    else if (this.streams.size >= this.#maxStreams) this.#waiting.add(stream);
    else this.#start(stream);
    return stream;
  }

  /** One ping at a time; `done` is not called if the session closes before. */
  ping(done: () => void): void {
    this.#ping = done;
    this.writer.send(frame(frameType.PING, 0, 0, pingPayload));
  }

  /** Sends immediately what would otherwise leave at the end of the turn. */
  flush(): void {
    this.writer.flush();
  }

  destroy(cause: Error | undefined): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.failure ??= cause;
    this.writer.end();
    this.#options.socket.destroy();
  }

  write(stream: Http2Stream, bytes: Buffer, ends: boolean): void {
    stream.add(bytes);
    stream.ends = ends;
    if (stream.id !== 0) this.outgoing.pump(stream);
  }

  reset(stream: Http2Stream, code: number): void {
    if (stream.id !== 0 && this.streams.has(stream.id))
      this.writer.send(numberFrame(frameType.RST_STREAM, stream.id, code));
    this.#forget(stream);
  }

  giveBack(stream: Http2Stream): void {
    if (stream.consumed * 2 < this.#options.streamWindowBytes || !this.streams.has(stream.id)) return;
    this.writer.send(numberFrame(frameType.WINDOW_UPDATE, stream.id, stream.consumed));
    stream.consumed = 0;
  }

  withinWindow(stream: Http2Stream): boolean {
    return stream.unread + stream.consumed <= this.#options.streamWindowBytes;
  }

  #start(stream: Http2Stream): void {
    stream.id = this.#nextId;
    this.#nextId += 2;
    this.outgoing.opened(stream);
    this.streams.add(stream);
    const { head, pending, ends } = stream;
    const empty = pending.length === 0;
    this.outgoing.head(stream, head, empty && ends);
    if (!empty) this.outgoing.pump(stream);
    if (this.#nextId > maxStreamId) this.#drain();
  }

  protected sent(): void {
    // The response ends the stream.
  }

  /** Received bytes count as consumed for the connection; only streams wait for slow readers. */
  protected took(length: number): void {
    const { sessionWindowBytes } = this.#options;
    this.#consumed += length;
    if (this.#consumed * 2 < sessionWindowBytes) return;
    this.writer.send(numberFrame(frameType.WINDOW_UPDATE, 0, this.#consumed));
    this.#consumed = 0;
  }

  protected headers({ streamId, fields, ends }: ReceivedHeaders, stream: Http2Stream | undefined): void {
    if (stream === undefined) {
      this.requireOpened(streamId);
      return this.late(streamId);
    }
    const fault = stream.form.headers(fields, ends);
    if (fault !== undefined) return stream.fail(resetCode.PROTOCOL_ERROR, fault);
    stream.handler.headers(fields);
    if (ends) this.over(stream);
  }

  /** The response is complete, so unsent request data is dropped. */
  protected over(stream: Http2Stream): void {
    if (!this.streams.has(stream.id)) return;
    this.closedStreams.add(stream.id, 'ended');
    if (!stream.done) this.writer.send(numberFrame(frameType.RST_STREAM, stream.id, resetCode.CANCEL));
    this.#forget(stream);
    stream.finish(undefined);
  }

  protected resetByPeer(stream: Http2Stream, code: number): void {
    this.#forget(stream);
    stream.finish({ code, sent: code !== resetCode.REFUSED_STREAM, cause: undefined });
  }

  protected settled({ maxStreams }: PeerSettings): void {
    this.#maxStreams = maxStreams ?? this.#maxStreams;
    if (!this.#readyReported) {
      this.#readyReported = true;
      this.#options.handler.ready();
    }
    this.#startWaiting();
  }

  protected override pinged(payload: Buffer): void {
    const { delayPong } = this.#options;
    if (delayPong === undefined || this.#ponging) return super.pinged(payload);
    this.#ponging = true;
    const kept = Buffer.from(payload);
    delayPong(() => {
      this.#ponging = false;
      // No effect on a closed session.
      this.writer.send(pongFrame(kept));
    });
  }

  protected override ponged(payload: Buffer): void {
    if (!payload.equals(pingPayload)) return;
    const done = this.#ping;
    this.#ping = undefined;
    done?.();
  }

  protected goneAway(last: number, code: number): void {
    // Callers may have retried later streams elsewhere already.
    if (last > this.#lastId)
      throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'GOAWAY with a higher stream id than before');
    this.#lastId = last;
    const failure = {
      code: code === resetCode.NO_ERROR ? resetCode.REFUSED_STREAM : code,
      sent: false,
      cause: undefined,
    };
    // Drain first: callers retry in `finish`, and must use another connection.
    this.#drain();
    for (const stream of this.streams.values()) {
      if (stream.id <= last) continue;
      this.#forget(stream);
      stream.finish(failure);
    }
    this.#closeWhenIdle();
  }

  protected requireOpened(streamId: number): void {
    if (streamId % 2 === 1 && streamId < this.#nextId) return;
    throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'frame for a stream that was not opened');
  }

  #forget(stream: Http2Stream): void {
    this.#waiting.delete(stream);
    this.outgoing.forget(stream);
    if (!this.streams.delete(stream.id)) return;
    if (this.#waiting.size > 0) this.#startWaiting();
    if (this.draining) this.#closeWhenIdle();
  }

  #startWaiting(): void {
    for (const stream of this.#waiting) {
      if (this.streams.size >= this.#maxStreams || this.draining) return;
      this.#waiting.delete(stream);
      this.#start(stream);
    }
  }

  #drain(): void {
    if (this.draining) return;
    this.draining = true;
    this.#options.handler.draining();
    for (const stream of this.#waiting) {
      this.#forget(stream);
      stream.finish({ code: resetCode.REFUSED_STREAM, sent: false, cause: undefined });
    }
  }

  #closeWhenIdle(): void {
    if (this.streams.size === 0) this.destroy(undefined);
  }

  protected broken(error: Error): void {
    this.destroy(error);
  }

  protected lost(): void {
    this.destroyed = true;
    const failure = { code: undefined, cause: this.failure };
    const streams = this.streams.values();
    const waiting = [...this.#waiting];
    this.streams.clear();
    this.#waiting.clear();
    this.outgoing.clear();
    this.#options.handler.closed(this.failure);
    for (const stream of streams) stream.finish({ ...failure, sent: true });
    for (const stream of waiting) stream.finish({ ...failure, sent: false });
  }
}
