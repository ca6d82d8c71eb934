/** Server side of an HTTP/2 stream: a request and its response. */

import type { StreamFailure } from '#http/http2/client-session.js';
import { resetCode } from '#http/http2/frames.js';
import type { RequestForm } from '#http/http2/message-form.js';
import { OutgoingStream } from '#http/http2/streams.js';

/** Receives the events of a stream. */
export interface ServerStreamHandler {
  /** A part of the request's body; its reader calls `took`. */
  data(chunk: Buffer): void;
  /** The body is complete. */
  ended(): void;
  /** Waiting data was sent. */
  drained(): void;
  /** Called once, at the end; undefined if the response was sent. Not called after `reset`. */
  closed(failure: StreamFailure | undefined): void;
}

/** What a stream needs from its session. */
export interface ServerStreamOwner {
  head(stream: ServerStream, block: Buffer, ends: boolean): void;
  /** Sends the stream's pending data. */
  pump(stream: ServerStream): void;
  reset(stream: ServerStream, code: number): void;
  /** Body bytes were consumed. */
  giveBack(stream: ServerStream, length: number): void;
}

export class ServerStream extends OutgoingStream {
  readonly form: RequestForm;
  handler: ServerStreamHandler | undefined;
  /** The request is complete. */
  inputEnded: boolean;
  /** Body bytes received but not consumed. */
  unread = 0;
  /** Bytes consumed but not returned to the client's window. */
  consumed = 0;
  /** Since when the end of a complete response waits for the client; ms. */
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

  /** True if the response is complete or cannot be sent. */
  get over(): boolean {
    return this.#over;
  }

  /** Sends headers, informational or final. `ends`: no data follows. */
  head(block: Buffer, ends = false): void {
    if (this.#over) return;
    this.ends = ends;
    this.#session.head(this, block, ends);
  }

  /**
   * Sends a non-empty part of the body. False if the caller should wait for `drained`. `left` is called when the memory
   * may be reused; not if the stream ends before.
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

  /** Cancels the stream; the handler gets no more events. Idempotent. */
  reset(code: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#session.reset(this, code);
  }

  /** The reader has consumed these body bytes, so the client may send as many more. */
  took(length: number): void {
    // The session has returned the remaining bytes at the end of the stream.
    if (this.#over) return;
    this.unread -= length;
    this.#session.giveBack(this, length);
  }

  /** Called by the session: data arrived. */
  received(chunk: Buffer): void {
    if (this.#over) return this.#session.giveBack(this, chunk.length);
    this.unread += chunk.length;
    const fault = this.form.data(chunk.length);
    if (fault !== undefined) this.fail(resetCode.PROTOCOL_ERROR, fault);
    else this.handler?.data(chunk);
  }

  /** Called by the session: padding is consumed immediately. */
  padded(length: number): void {
    this.#session.giveBack(this, length);
  }

  /** Called by the session: the client violated the rules of a stream; the connection continues (RFC 9113, 5.4.2). */
  fail(code: number, why: string): void {
    if (this.#over) return;
    this.#session.reset(this, code);
    this.finish({ code, sent: true, cause: new Error(`HTTP/2: ${why}`) });
  }

  /** Called by the session: the stream has ended. */
  finish(failure: StreamFailure | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.handler?.closed(failure);
  }
}
