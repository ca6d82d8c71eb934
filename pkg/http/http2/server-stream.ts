/** One request and its answer, as a stream of an HTTP/2 connection, on the server's side. */

import type { StreamFailure } from '#http/http2/client-session.js';
import { resetCode } from '#http/http2/frames.js';
import type { RequestForm } from '#http/http2/message-form.js';
import { OutgoingStream } from '#http/http2/streams.js';

/** Told what becomes of a stream. */
export interface ServerStreamHandler {
  /** A part of the request's body; its bytes are to be given back by `took`. */
  data(chunk: Buffer): void;
  /** The body has come to its end. */
  ended(): void;
  /** Data that waited has left. */
  drained(): void;
  /** Called once, last: the answer has been sent (undefined), or is not wanted any more. Not called after `reset`. */
  closed(failure: StreamFailure | undefined): void;
}

/** What a stream needs of its session. */
export interface ServerStreamOwner {
  head(stream: ServerStream, block: Buffer, ends: boolean): void;
  /** Sends what the stream has. */
  pump(stream: ServerStream): void;
  reset(stream: ServerStream, code: number): void;
  /** Bytes of the request's body are not needed any more. */
  giveBack(stream: ServerStream, length: number): void;
}

export class ServerStream extends OutgoingStream {
  readonly form: RequestForm;
  handler: ServerStreamHandler | undefined;
  /** Nothing more of the request comes. */
  inputEnded: boolean;
  /** Bytes of the body received and not yet taken. */
  unread = 0;
  /** Bytes taken and not yet given back to the peer's window. */
  consumed = 0;
  /** Since when the end of a whole answer waits for the client; ms. */
  waitingSinceMs: number | undefined;
  readonly #session: ServerStreamOwner;
  #over = false;

  constructor(session: ServerStreamOwner, id: number, form: RequestForm, inputEnded: boolean) {
    super();
    this.#session = session;
    this.id = id;
    this.form = form;
    this.inputEnded = inputEnded;
  }

  /** Nothing can be sent on it any more, or all has been sent. */
  get over(): boolean {
    return this.#over;
  }

  /** Sends headers, of an informational answer or of the answer itself. `ends`: nothing follows them. */
  head(block: Buffer, ends = false): void {
    if (this.#over) return;
    this.ends = ends;
    this.#session.head(this, block, ends);
  }

  /**
   * Sends a part of the body, which is not empty; false when it would be better to wait until the handler is told that it has `drained`.
   * `left` is called when the memory may be used for something else; not when the stream is over before that.
   */
  write(bytes: Buffer, left?: () => void): boolean {
    if (this.#over) return true;
    this.add(bytes, left);
    this.#session.pump(this);
    return this.pending.length === 0;
  }

  /** Sends the last part. */
  end(bytes: Buffer, left?: () => void): void {
    if (this.#over) return;
    this.ends = true;
    if (bytes.length > 0) this.add(bytes, left);
    else if (left !== undefined) queueMicrotask(left);
    this.#session.pump(this);
  }

  /** Gives it up: the handler hears no more. Idempotent. */
  reset(code: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#session.reset(this, code);
  }

  /** The reader has taken so many bytes of the body: the client may send as many more. */
  took(length: number): void {
    // What was left of a stream that is over has been given back with it.
    if (this.#over) return;
    this.unread -= length;
    this.#session.giveBack(this, length);
  }

  /** For the session: data has come. */
  received(chunk: Buffer): void {
    if (this.#over) return this.#session.giveBack(this, chunk.length);
    this.unread += chunk.length;
    const fault = this.form.data(chunk.length);
    if (fault !== undefined) this.fail(resetCode.PROTOCOL_ERROR, fault);
    else this.handler?.data(chunk);
  }

  /** For the session: padding is taken at once. */
  padded(length: number): void {
    this.#session.giveBack(this, length);
  }

  /** For the session: what came breaks the rules for streams, the connection goes on (RFC 9113, 5.4.2). */
  fail(code: number, why: string): void {
    if (this.#over) return;
    this.#session.reset(this, code);
    this.finish({ code, sent: true, cause: new Error(`HTTP/2: ${why}`) });
  }

  /** For the session: nothing more is heard or sent. */
  finish(failure: StreamFailure | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.handler?.closed(failure);
  }
}
