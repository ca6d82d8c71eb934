/** One stream of a SPDY session, as a Node.js stream whose two directions end apart from each other. */
import { Duplex } from 'node:stream';
import { resetStatus } from '#daemon/streaming/spdy/frames.js';
import type { SpdyHeaders } from '#daemon/streaming/spdy/headers.js';

/** Window of each direction of a stream until a SETTINGS frame says otherwise (draft 3, section 2.6.8). */
export const initialWindowBytes = 64 * 1024;

type Done = (error?: Error | null) => void;

/** What a stream asks of its session. */
export interface StreamOwner {
  /** Writes what the peer's windows allow of what waits in the stream. */
  send(stream: SpdyStream): void;
  reset(stream: SpdyStream, status: number): void;
  /** Bytes that arrived have left for their reader, or are dropped. */
  consumed(stream: SpdyStream, bytes: number): void;
  /** Neither direction will be used again. */
  over(stream: SpdyStream): void;
}

/** Bytes, or the end (`fin`), that wait to be sent. */
interface Outgoing {
  bytes: Buffer;
  readonly fin: boolean;
  /** A part of it is on its way to the system; the next one waits for that. */
  flushing: boolean;
  readonly done: Done;
}

/** `destroy` resets the stream; `end` ends the way to the peer, the end of reading is the end of the way from it. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  /** Resolves when the peer has accepted the stream. */
  readonly accepted: Promise<void>;
  /** Bytes that the peer takes now, as far as it keeps windows. */
  sendWindow: number;
  outgoing: Outgoing | undefined;
  readonly #owner: StreamOwner;
  #localEnded = false;
  #remoteEnded = false;
  /** The peer takes no more bytes: what is still written is dropped, what it sent before is still to be read. */
  #resetByPeer = false;
  /** The connection is over before the peer ended the stream, which breaks off once what came has been read. */
  #cutOff = false;
  #accept: (() => void) | undefined;
  /** Of what arrived, what had not been told to be consumed when last asked. */
  #unread = 0;

  constructor(owner: StreamOwner, id: number, headers: SpdyHeaders, sendWindow: number) {
    super({ allowHalfOpen: true });
    this.#owner = owner;
    this.id = id;
    this.headers = headers;
    this.sendWindow = sendWindow;
    this.accepted = new Promise((resolve, reject) => {
      this.#accept = resolve;
      this.once('close', () => reject(new Error('stream closed before it was accepted')));
    });
    this.accepted.catch(() => undefined);
    // A stream that nobody listens to must not end the process; its end is seen all the same.
    this.on('error', () => undefined);
  }

  get remoteEnded(): boolean {
    return this.#remoteEnded;
  }

  override _read(): void {
    // Bytes come when the peer sends them.
  }

  /** All ways of reading come through here. */
  override read(size?: number): Buffer | null {
    const bytes = super.read(size) as Buffer | null;
    this.#count();
    return bytes;
  }

  /** Tells the session of what has been read since the last time. */
  #count(): void {
    const consumed = this.#unread - this.readableLength;
    if (consumed <= 0) return;
    this.#unread -= consumed;
    this.#owner.consumed(this, consumed);
    if (this.#cutOff && this.readableLength === 0) this.destroy();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#send(chunk, false, done);
  }

  override _final(done: Done): void {
    this.#localEnded = true;
    this.#send(Buffer.alloc(0), true, (error) => {
      done(error);
      if (this.#remoteEnded) this.#owner.over(this);
    });
  }

  #send(bytes: Buffer, fin: boolean, done: Done): void {
    // An error would take away what is still to be read.
    if (this.#resetByPeer) done();
    else {
      this.outgoing = { bytes, fin, flushing: false, done };
      this.#owner.send(this);
    }
  }

  override _destroy(error: Error | null, done: Done): void {
    const waiting = this.outgoing;
    this.outgoing = undefined;
    waiting?.done(new Error('the stream is closed'));
    const complete = this.#localEnded && this.#remoteEnded && waiting === undefined;
    if (!this.#resetByPeer && !complete) this.#owner.reset(this, resetStatus.cancel);
    this.#owner.over(this);
    const dropped = this.#unread;
    this.#unread = 0;
    if (dropped > 0) this.#owner.consumed(this, dropped);
    done(error);
  }

  /** For the session: the peer's reply came. */
  markAccepted(): void {
    this.#accept?.();
  }

  /** For the session: the peer's RST_STREAM came. */
  resetByPeer(): void {
    this.#resetByPeer = true;
    const waiting = this.outgoing;
    this.outgoing = undefined;
    waiting?.done();
    this.receive(Buffer.alloc(0), true);
    this.end();
  }

  /** For the session: the connection is over. What the peer had sent is still to be read. */
  cutOff(): void {
    if (this.#remoteEnded) this.resetByPeer();
    else if (this.readableLength === 0) this.destroy();
    else {
      this.#cutOff = true;
      this.#remoteEnded = true;
      const waiting = this.outgoing;
      this.outgoing = undefined;
      waiting?.done();
      this.#owner.over(this);
    }
  }

  /** For the session: bytes from the peer. */
  receive(bytes: Buffer, fin: boolean): void {
    if (bytes.length > 0) {
      this.#unread += bytes.length;
      this.push(bytes);
      this.#count();
    }
    if (!fin || this.#remoteEnded) return;
    this.#remoteEnded = true;
    this.push(null);
    if (this.#localEnded && this.outgoing === undefined) this.#owner.over(this);
  }
}
