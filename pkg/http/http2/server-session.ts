/**
 * Server side of an HTTP/2 connection (RFC 9113). A handler gets the requests; a response is headers and data of a
 * `ServerStream`. Limits bound what a client can use: concurrent streams, header bytes, unread body bytes, cancelled
 * requests, and frames without effect.
 *
 * Why not Node.js's own: see `client-session.ts`; here a request is two or three objects, and its response a part of
 * one write.
 */
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { FrameSession, type ReceivedHeaders } from '#http/http2/frame-session.js';
import type { WriteBuffers } from '#http/http2/frame-writer.js';
import {
  ConnectionError,
  defaultWindowBytes,
  frameType,
  goAwayFrame,
  numberFrame,
  preface,
  resetCode,
  setting,
  settingsFrame,
} from '#http/http2/frames.js';
import type { HeaderField } from '#http/http2/hpack.js';
import { RequestForm, type RequestTarget } from '#http/http2/message-form.js';
import { ServerStream, type ServerStreamOwner } from '#http/http2/server-stream.js';

/** A request with complete headers. */
export interface RequestHead {
  readonly target: RequestTarget;
  /** In order, including pseudo-header fields. */
  readonly fields: readonly HeaderField[];
  /** Headers exceed the limit: refuse the request (431) and do not use its fields. */
  readonly tooLarge: boolean;
  /** Why the request is answered with 400; undefined if valid. */
  readonly invalid: string | undefined;
}

export interface ServerSessionHandler {
  /** Never throws. Must set the stream's handler first, which gets all further events. */
  request(stream: ServerStream, head: RequestHead): void;
  /** Called once, at the end. */
  closed(cause: Error | undefined): void;
}

export interface ServerSessionOptions {
  /** Connected; over TLS with `h2` negotiated. */
  readonly socket: Duplex;
  readonly handler: ServerSessionHandler;
  readonly clock: Clock;
  /** Limit of concurrent streams. */
  readonly maxStreams: number;
  /** Limit of a request's headers, counted as SETTINGS_MAX_HEADER_LIST_SIZE does. */
  readonly maxHeaderBytes: number;
  /** Body bytes that one stream, and all together, may send before they are read. */
  readonly streamWindowBytes: number;
  readonly sessionWindowBytes: number;
  /** Shared with other connections; absent: the session's own. */
  readonly buffers?: WriteBuffers;
}

/** Limit of requests that clients cancel before their response (CVE-2023-44487). */
const resets = { burst: 1000, perSecond: 33 };
/** Limit of frames without effect. */
const idleFrames = { burst: 10_000, perSecond: 1000 };
/** Header blocks up to this multiple of the limit are read and answered with 431; larger ones end the connection. */
const refusedBlocks = 4;
/** Time for a client to read the last frames and close. */
const lingerMs = 5_000;

export class ServerSession extends FrameSession<ServerStream> implements ServerStreamOwner {
  readonly #options: ServerSessionOptions;
  readonly #resets = new TokenBucket(resets);
  readonly #idleFrames = new TokenBucket(idleFrames);
  readonly #nowMs: () => number;
  /** Last stream that the client opened. */
  #lastOpened = 0;
  protected lastStreamId = 0;
  /** Body bytes that the client may still send on all streams together. */
  #receiveWindow: number;
  /** Bytes consumed but not returned to the client's window. */
  #consumed = 0;
  #linger: Timer | undefined;

  constructor(options: ServerSessionOptions) {
    const { socket, buffers } = options;
    super({ socket, peer: 'client', preface, buffers, maxBlockBytes: refusedBlocks * options.maxHeaderBytes });
    this.#options = options;
    const { clock, maxStreams, maxHeaderBytes, streamWindowBytes, sessionWindowBytes } = options;
    this.#nowMs = () => clock.monotonic();
    this.#receiveWindow = sessionWindowBytes;
    this.writer.send(
      settingsFrame([
        [setting.MAX_CONCURRENT_STREAMS, maxStreams],
        [setting.INITIAL_WINDOW_SIZE, streamWindowBytes],
        [setting.MAX_HEADER_LIST_SIZE, maxHeaderBytes],
      ]),
    );
    this.writer.send(numberFrame(frameType.WINDOW_UPDATE, 0, sessionWindowBytes - defaultWindowBytes));
  }

  /** True if it accepts no new streams. */
  get leaving(): boolean {
    return this.draining || this.destroyed;
  }

  /** Open streams. */
  get size(): number {
    return this.streams.size;
  }

  /**
   * Tells the client to open new streams elsewhere. Open streams continue, and the connection ends with the last one.
   * Idempotent.
   */
  goAway(): void {
    if (this.leaving) return;
    this.draining = true;
    this.writer.send(goAwayFrame(this.lastStreamId, resetCode.NO_ERROR));
    this.#leaveWhenIdle();
  }

  /** Resets streams whose responses have waited for the client since before `sinceMs`. */
  resetStalled(sinceMs: number): void {
    for (const stream of [...this.outgoing.blocked]) {
      if (stream.waitingSinceMs === undefined || stream.waitingSinceMs > sinceMs) continue;
      stream.fail(resetCode.CANCEL, 'the client does not read');
    }
  }

  override destroy(cause: Error | undefined): void {
    if (this.socket.destroyed) return;
    this.destroyed = true;
    this.failure ??= cause;
    this.writer.end();
    this.socket.destroy();
  }

  head(stream: ServerStream, block: Buffer, ends: boolean): void {
    this.outgoing.head(stream, block, ends);
  }

  pump(stream: ServerStream): void {
    this.outgoing.pump(stream);
    // A partial response is timed by its writer.
    if (stream.ends && !stream.done) stream.waitingSinceMs = this.#nowMs();
  }

  reset(stream: ServerStream, code: number): void {
    if (!this.streams.has(stream.id)) return;
    this.writer.send(numberFrame(frameType.RST_STREAM, stream.id, code));
    this.#forget(stream);
  }

  giveBack(stream: ServerStream, length: number): void {
    this.#giveBackAll(length);
    stream.consumed += length;
    if (stream.inputEnded || !this.streams.has(stream.id)) return;
    if (stream.consumed * 2 < this.#options.streamWindowBytes) return;
    this.writer.send(numberFrame(frameType.WINDOW_UPDATE, stream.id, stream.consumed));
    stream.consumed = 0;
  }

  #giveBackAll(length: number): void {
    this.#consumed += length;
    if (this.#consumed * 2 < this.#options.sessionWindowBytes) return;
    this.writer.send(numberFrame(frameType.WINDOW_UPDATE, 0, this.#consumed));
    this.#receiveWindow += this.#consumed;
    this.#consumed = 0;
  }

  protected took(length: number, stream: ServerStream | undefined): void {
    this.#receiveWindow -= length;
    if (this.#receiveWindow < 0) throw tooMuch();
    // The stream has no reader any more.
    if (stream === undefined) return this.#giveBackAll(length);
    const room = this.#options.streamWindowBytes - stream.unread - stream.consumed;
    if (length <= room && !stream.inputEnded) return;
    if (stream.inputEnded) stream.fail(resetCode.STREAM_CLOSED, 'data after the end of the request');
    else stream.fail(resetCode.FLOW_CONTROL_ERROR, 'data exceeds the window');
  }

  protected headers(received: ReceivedHeaders, stream: ServerStream | undefined): void {
    const { streamId } = received;
    if (stream !== undefined) return this.#trailers(stream, received);
    if (streamId % 2 === 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'request on a stream id of the server');
    if (streamId <= this.#lastOpened) return this.late(streamId);
    this.#lastOpened = streamId;
    // After GOAWAY, new requests are not processed.
    if (this.draining) return this.idle();
    this.#request(received);
  }

  #request({ streamId, fields, ends, listBytes }: ReceivedHeaders): void {
    const { maxStreams, maxHeaderBytes, handler } = this.#options;
    const form = new RequestForm();
    const target = form.head(fields, ends);
    if (typeof target === 'string') return this.#refuse(streamId, resetCode.PROTOCOL_ERROR);
    if (this.streams.size >= maxStreams) return this.#refuse(streamId, resetCode.REFUSED_STREAM);
    this.lastStreamId = streamId;
    const stream = new ServerStream(this, streamId, form, ends);
    this.outgoing.opened(stream);
    this.streams.add(stream);
    handler.request(stream, { target, fields, tooLarge: listBytes > maxHeaderBytes, invalid: form.invalid });
  }

  #refuse(streamId: number, code: number): void {
    this.writer.answer(numberFrame(frameType.RST_STREAM, streamId, code));
    this.idle();
  }

  #trailers(stream: ServerStream, { fields, ends, listBytes }: ReceivedHeaders): void {
    if (stream.inputEnded) return stream.fail(resetCode.STREAM_CLOSED, 'headers after the end of the request');
    if (!ends) return stream.fail(resetCode.PROTOCOL_ERROR, 'trailers without END_STREAM');
    if (listBytes > this.#options.maxHeaderBytes) {
      return stream.fail(resetCode.ENHANCE_YOUR_CALM, 'trailers are too long');
    }
    const fault = stream.form.trailers(fields);
    if (fault !== undefined) return stream.fail(resetCode.PROTOCOL_ERROR, fault);
    this.over(stream);
  }

  protected over(stream: ServerStream): void {
    stream.inputEnded = true;
    stream.handler?.ended();
  }

  protected sent(stream: ServerStream): void {
    if (stream.done) {
      // The client need not send the rest of its request (RFC 9113, 8.1).
      if (!stream.inputEnded) this.writer.send(numberFrame(frameType.RST_STREAM, stream.id, resetCode.NO_ERROR));
      else this.closedStreams.add(stream.id, 'ended');
      this.#forget(stream);
      stream.finish(undefined);
    } else stream.handler?.drained();
  }

  protected resetByPeer(stream: ServerStream, code: number): void {
    this.#forget(stream);
    stream.finish({ code, sent: true, cause: undefined });
    if (!this.#resets.take(this.#nowMs)) throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'too many resets');
  }

  protected settled(): void {
    // Only clients open streams.
  }

  protected goneAway(): void {
    // The client opens no more streams, but still reads its responses.
  }

  protected override idle(): void {
    if (!this.#idleFrames.take(this.#nowMs)) throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'too many frames');
  }

  protected requireOpened(streamId: number): void {
    if (streamId % 2 === 1 && streamId <= this.#lastOpened) return;
    throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'frame for a stream that was not opened');
  }

  #forget(stream: ServerStream): void {
    this.outgoing.forget(stream);
    if (!this.streams.delete(stream.id)) return;
    // The stream has no reader any more.
    if (stream.unread > 0) this.#giveBackAll(stream.unread);
    stream.unread = 0;
    if (this.draining) this.#leaveWhenIdle();
  }

  #leaveWhenIdle(): void {
    if (this.streams.size === 0 && !this.destroyed) this.#leave();
  }

  protected broken(error: Error): void {
    this.failure ??= error;
    this.#leave();
  }

  /** Flushes and half-closes: a connection closed with unread bytes is reset, and the client loses the last frames. */
  #leave(): void {
    this.writer.flush();
    this.destroyed = true;
    this.writer.end();
    this.socket.end();
    this.#linger = this.#options.clock.setTimer(() => this.socket.destroy(), lingerMs);
    this.#finish();
  }

  #finish(): void {
    const failure = { code: undefined, sent: true, cause: this.failure };
    const streams = this.streams.values();
    this.streams.clear();
    this.outgoing.clear();
    for (const stream of streams) stream.finish(failure);
  }

  protected lost(): void {
    this.destroyed = true;
    this.#linger?.cancel();
    this.#finish();
    this.#options.handler.closed(this.failure);
  }
}

function tooMuch(): ConnectionError {
  return new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'data exceeds the window');
}

/** Allows a burst, and a rate of further events per second. */
interface TokenBucketOptions {
  readonly burst: number;
  readonly perSecond: number;
}

class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #sinceMs: number | undefined;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.burst;
  }

  /** Takes a token; false if there is none. `nowMs`: monotonic clock, called only if needed. */
  take(nowMs: () => number): boolean {
    if (this.#tokens < 1) this.#refill(nowMs());
    else this.#sinceMs ??= nowMs();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #refill(nowMs: number): void {
    const { burst, perSecond } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - (this.#sinceMs ?? nowMs)) / 1000) * perSecond);
    this.#sinceMs = nowMs;
  }
}
