/** A stream of a SPDY session as a Node.js stream with independently ending directions. */
import { Duplex } from 'node:stream';
import { resetStatus } from '#daemon/streaming/spdy/frames.js';
import type { SpdyHeaders } from '#daemon/streaming/spdy/headers.js';

/** Window of each direction before a SETTINGS frame (draft 3, section 2.6.8). */
export const initialWindowBytes = 64 * 1024;

type Done = (error?: Error | null) => void;

/** What a stream needs from its session. */
export interface StreamOwner {
  /** Writes as much pending data as the peer's windows allow. */
  send(stream: SpdyStream): void;
  reset(stream: SpdyStream, status: number): void;
  /** Received bytes were read or dropped, and `pieces` of them are not in memory any more. */
  consumed(stream: SpdyStream, bytes: number, pieces: number): void;
  /** Both directions are finished. */
  over(stream: SpdyStream): void;
}

/** Bytes, or the end (`fin`), that are waiting to be sent. */
interface Outgoing {
  bytes: Buffer;
  readonly fin: boolean;
  /** A part is being written; the next part waits for it. */
  flushing: boolean;
  readonly done: Done;
}

/**
 * `destroy` resets the stream, `end` ends the direction to the peer; the end of reading is the end of the other
 * direction.
 */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  /** Resolves when the peer has accepted the stream. */
  readonly accepted: Promise<void>;
  /** Bytes that the peer accepts now, if it keeps windows. */
  sendWindow: number;
  outgoing: Outgoing | undefined;
  readonly #owner: StreamOwner;
  #localEnded = false;
  #remoteEnded = false;
  /** The peer accepts no more bytes: writes are dropped, earlier data can still be read. */
  #resetByPeer = false;
  /** The connection ended before the peer ended the stream, which breaks off once the received data is read. */
  #cutOff = false;
  #accept: (() => void) | undefined;
  /** Received bytes not yet reported as consumed. */
  #unread = 0;
  /** Frames that they came in, reported once all are read. */
  #pieces = 0;

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
    // An unhandled stream error must not end the process; users see the end anyway.
    this.on('error', () => undefined);
  }

  get remoteEnded(): boolean {
    return this.#remoteEnded;
  }

  override _read(): void {
    // Bytes come when the peer sends them.
  }

  /** Every way of reading ends here. */
  override read(size?: number): Buffer | null {
    const bytes = super.read(size) as Buffer | null;
    this.#count();
    return bytes;
  }

  /** Reports bytes read since the last call to the session. */
  #count(): void {
    const consumed = this.#unread - this.readableLength;
    if (consumed <= 0) return;
    this.#unread -= consumed;
    this.#owner.consumed(this, consumed, this.#readPieces());
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
    // An error would discard data that can still be read.
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
    if (dropped > 0) this.#owner.consumed(this, dropped, this.#readPieces());
    done(error);
  }

  #readPieces(): number {
    if (this.#unread > 0) return 0;
    const pieces = this.#pieces;
    this.#pieces = 0;
    return pieces;
  }

  /** Called by the session: the peer replied. */
  markAccepted(): void {
    this.#accept?.();
  }

  /** Called by the session: the peer sent RST_STREAM. */
  resetByPeer(): void {
    this.#resetByPeer = true;
    const waiting = this.outgoing;
    this.outgoing = undefined;
    waiting?.done();
    this.receive(Buffer.alloc(0), true);
    this.end();
  }

  /** Called by the session: the connection ended. Received data can still be read. */
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

  /** Called by the session: data from the peer. */
  receive(bytes: Buffer, fin: boolean): void {
    if (bytes.length > 0) {
      this.#unread += bytes.length;
      this.#pieces += 1;
      this.push(bytes);
      this.#count();
    }
    if (!fin || this.#remoteEnded) return;
    this.#remoteEnded = true;
    this.push(null);
    if (this.#localEnded && this.outgoing === undefined) this.#owner.over(this);
  }
}
