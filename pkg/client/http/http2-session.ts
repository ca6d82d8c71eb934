/** One HTTP/2 connection, with a health check by pings. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { type ChannelRequest, type ChannelResponse, flattenHeaders, UnsentError } from '#client/http/channel.js';
import { TransportError } from '#client/http/transport-error.js';

export interface Http2SessionOptions {
  /** Connected, with HTTP/2 agreed on. */
  readonly socket: Socket;
  /** `https://host:port`. */
  readonly origin: string;
  readonly clock: Clock;
  /** Called once when the connection is gone. */
  readonly onClosed: () => void;
}

/** A ping is sent after that long without a byte from the server, and must be answered (the figures of client-go). */
const readIdleMs = 30_000;
const pingTimeoutMs = 15_000;
/** Large answers must not stop for every 64 KiB. */
const streamWindowBytes = 4 * 1024 * 1024;
const sessionWindowBytes = 16 * 1024 * 1024;

/** Resets that say that the server did not act on the request (RFC 9113, section 8.7). */
const refused = constants.NGHTTP2_REFUSED_STREAM;
const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_STATUS } = constants;

export class Http2Session {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #clock: Clock;
  #streams = 0;
  #leaving = false;
  #failure: Error | undefined;
  #timer: Timer | undefined;
  #bytesRead = 0;

  constructor(options: Http2SessionOptions) {
    const { socket, origin, clock, onClosed } = options;
    this.#socket = socket;
    this.#clock = clock;
    this.#session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
      // Requests in flight are bounded by streams and windows, not by the session's estimate of its memory.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
    });
    this.#session.setLocalWindowSize(sessionWindowBytes);
    this.#session.on('error', (error) => {
      this.#failure ??= error;
    });
    // Requests in flight continue; new ones need another connection.
    this.#session.on('goaway', () => {
      this.#leaving = true;
    });
    this.#session.on('close', () => {
      this.#timer?.cancel();
      this.#leaving = true;
      onClosed();
    });
    this.#session.unref();
    this.#watch();
  }

  /** Streams that are open now. */
  get streams(): number {
    return this.#streams;
  }

  /** Whether it takes requests at all. */
  get usable(): boolean {
    return !this.#leaving && !this.#session.closed && !this.#session.destroyed && !this.#socket.destroyed;
  }

  /** Whether the server takes another stream now. */
  get hasRoom(): boolean {
    return this.usable && this.#streams < (this.#session.remoteSettings.maxConcurrentStreams ?? 100);
  }

  send(request: ChannelRequest, headers: Readonly<Record<string, string | string[]>>): Promise<ChannelResponse> {
    return new Promise((resolve, reject) => {
      let stream: ClientHttp2Stream;
      request.beforeSending?.();
      try {
        stream = this.#session.request(
          { ...headers, [HTTP2_HEADER_METHOD]: request.method, [HTTP2_HEADER_PATH]: request.path },
          { endStream: request.body === undefined },
        );
      } catch (error) {
        // The session ended in this very moment.
        reject(new UnsentError('the session takes no requests', { cause: error }));
        return;
      }
      this.#opened();
      const abort = () => stream.close(constants.NGHTTP2_CANCEL);
      request.signal.addEventListener('abort', abort, { once: true });
      let failure: Error | undefined;
      let isAnswered = false;
      stream.on('error', (error) => {
        failure = error;
      });
      stream.once('close', () => {
        this.#ended();
        request.signal.removeEventListener('abort', abort);
        if (!isAnswered) reject(this.#explain(stream, failure));
      });
      stream.once('response', (received) => {
        isAnswered = true;
        resolve({
          status: Number(received[HTTP2_HEADER_STATUS] ?? 0),
          headers: flattenHeaders(received),
          body: stream,
          isComplete: () => !stream.aborted && (stream.rstCode ?? 0) === constants.NGHTTP2_NO_ERROR,
          cancel: () => {
            // What has come to its end closes by itself: servers end a connection on which many streams are reset.
            const ended = stream.readableEnded && stream.writableFinished;
            if (!stream.closed && !ended) stream.close(constants.NGHTTP2_CANCEL);
          },
        });
      });
      if (request.body !== undefined) stream.end(request.body);
      if (request.signal.aborted) abort();
    });
  }

  /** Takes no more requests and closes when those under way have ended. */
  retire(): void {
    this.#leaving = true;
    if (!this.#session.closed) this.#session.close();
  }

  destroy(error?: Error): void {
    this.#failure ??= error;
    this.#leaving = true;
    this.#session.destroy();
    this.#socket.destroy();
  }

  #explain(stream: ClientHttp2Stream, failure: Error | undefined): Error {
    const unsent = stream.rstCode === refused || stream.id === undefined || stream.pending;
    if (unsent) return new UnsentError('the server did not take the request', { cause: failure ?? this.#failure });
    const cause = this.#failure ?? failure;
    return cause ?? Object.assign(new Error('the connection closed before the answer'), { code: 'ECONNRESET' });
  }

  /** An idle connection does not keep the process alive, one with a request does. */
  #opened(): void {
    this.#streams += 1;
    if (this.#streams === 1) this.#session.ref();
  }

  #ended(): void {
    this.#streams -= 1;
    if (this.#streams === 0 && !this.#session.destroyed) this.#session.unref();
  }

  #watch(): void {
    this.#timer = this.#clock.setTimer(() => {
      if (this.#session.destroyed) return;
      const { bytesRead } = this.#socket;
      if (bytesRead !== this.#bytesRead) {
        this.#bytesRead = bytesRead;
        this.#watch();
      } else this.#ping();
    }, readIdleMs);
  }

  #ping(): void {
    this.#timer = this.#clock.setTimer(() => {
      this.destroy(new TransportError('ConnectionReset', 'the server did not answer a ping'));
    }, pingTimeoutMs);
    const sent = this.#session.ping((error) => {
      this.#timer?.cancel();
      if (error === null && !this.#session.destroyed) this.#watch();
    });
    if (!sent) this.destroy(new TransportError('ConnectionReset', 'the connection takes no pings'));
  }
}
