/** One request and its answer, as a stream of an HTTP/2 connection. */
import { resetCode } from '#http/http2/frames.js';
import type { HeaderField } from '#http/http2/hpack.js';
import { ResponseForm } from '#http/http2/message-form.js';
import { OutgoingStream } from '#http/http2/outgoing.js';

/** How a stream ended that the peer did not end properly. */
export interface StreamFailure {
  /** The peer's code when it reset the stream; undefined when the connection was lost. */
  readonly code: number | undefined;
  /** False when the peer surely has not acted on the request. */
  readonly sent: boolean;
  readonly cause: unknown;
}

/** Told what comes in on a stream. */
export interface StreamHandler {
  headers(fields: readonly HeaderField[]): void;
  data(chunk: Buffer): void;
  /** Called once, last. Not called after `reset`. */
  ended(failure: StreamFailure | undefined): void;
}

/** What a stream needs of its session. */
export interface StreamOwner {
  write(stream: Http2Stream, bytes: Buffer, ends: boolean): void;
  reset(stream: Http2Stream, code: number): void;
  /** Gives what the stream has taken back to the peer's window, when it is worth a frame. */
  giveBack(stream: Http2Stream): void;
  /** False when the peer has sent more than it may. */
  withinWindow(stream: Http2Stream): boolean;
}

export class Http2Stream extends OutgoingStream {
  readonly handler: StreamHandler;
  readonly head: Buffer;
  /** Bytes received and not yet taken. */
  unread = 0;
  /** Bytes taken and not yet given back to the peer's window. */
  taken = 0;
  readonly form = new ResponseForm();
  readonly #session: StreamOwner;
  #over = false;

  constructor(session: StreamOwner, handler: StreamHandler, head: Buffer) {
    super();
    this.#session = session;
    this.handler = handler;
    this.head = head;
  }

  /** More data; without effect when the stream is over. */
  write(bytes: Buffer): void {
    if (!this.#over) this.#session.write(this, bytes, false);
  }

  /** Nothing more is wanted of it: the handler hears no more. Idempotent. */
  reset(code: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#session.reset(this, code);
  }

  /** The reader has taken so many bytes: the peer may send as many more. */
  took(length: number): void {
    this.unread -= length;
    this.taken += length;
    this.#session.giveBack(this);
  }

  /** For the session: data has come. */
  received(chunk: Buffer): void {
    if (this.#over) return;
    const fault = this.form.data(chunk.length);
    if (fault !== undefined) return this.fail(resetCode.PROTOCOL_ERROR, fault);
    this.unread += chunk.length;
    if (this.#session.withinWindow(this)) return this.handler.data(chunk);
    this.fail(resetCode.FLOW_CONTROL_ERROR, 'more data than there was room for');
  }

  /** For the session: what came breaks the rules for streams, the connection goes on (RFC 9113, 5.4.2). */
  fail(code: number, why: string): void {
    this.#session.reset(this, code);
    this.finish({ code, sent: true, cause: new Error(`HTTP/2: ${why}`) });
  }

  /** For the session: padding is taken at once. */
  padded(length: number): void {
    this.taken += length;
    this.#session.giveBack(this);
  }

  /** For the session: nothing more comes. */
  finish(failure: StreamFailure | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.handler.ended(failure);
  }
}
