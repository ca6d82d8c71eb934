/** Sends frames, those of one turn of the event loop in one write. */
import type { Duplex } from 'node:stream';
import { BufferPool, type PooledSize } from '#apimachinery/collections/buffer-pool.js';
import { ConnectionError, resetCode } from '#http/http2/frames.js';

/**
 * What is sent is put together into writes of up to so many bytes, four full TLS records; copying costs less than writing
 * frame by frame. So many are written at once: the peer may begin.
 */
const joinedBytes = 64 * 1024;
/** A single part that is larger is written as it is, up to here. */
const maxPartBytes = 520 * 1024;
/** So few bytes come out of Node.js's own pool; memory for more costs as much as writing them. */
const pooledBytes = 4 * 1024;
/** Sizes of other writes' buffers, and how many of each wait for the next write. */
const sizes: readonly PooledSize[] = [
  { bytes: 16 * 1024, maxSpare: 32 },
  { bytes: joinedBytes, maxSpare: 32 },
  { bytes: maxPartBytes, maxSpare: 4 },
];

/** The memory of writes under way, shared by connections. */
export class WriteBuffers extends BufferPool {
  constructor() {
    super(sizes);
  }
}

/** Answers that wait for a peer that asks and does not read. */
const maxWaitingAnswers = 10_000;
/** From here on parts that were written are let go while others still wait. */
const leastTrim = 64;

interface WriteListener {
  /** Called when so many bytes have been written, of all that were ever given. */
  readonly behind: number;
  readonly written: () => void;
}

export class FrameWriter {
  readonly #socket: Duplex;
  readonly #buffers: WriteBuffers;
  #out: Buffer[] = [];
  /** What comes next is in this part of `#out`, behind so many bytes of it. */
  #next = 0;
  #at = 0;
  #outBytes = 0;
  #ended = false;
  /** Bytes that were ever handed to the socket, and how many of them it has written. */
  #handedOver = 0;
  #written = 0;
  #listeners: WriteListener[] = [];
  #scheduled = false;
  /** Answers that wait. */
  #answers = 0;

  constructor(socket: Duplex, buffers = new WriteBuffers()) {
    this.#socket = socket;
    this.#buffers = buffers;
  }

  get #writing(): boolean {
    return this.#written < this.#handedOver;
  }

  /** Bytes that wait, here and in the socket. */
  get waiting(): number {
    return this.#outBytes + this.#socket.writableLength;
  }

  /**
   * At the end of the present turn: the requests that came in with it make their calls in it, and one write for all of
   * them costs little more than the write for one. `written` is called when the memory may be used for something else,
   * which is also when the connection is lost. Without effect after `end`.
   */
  send(bytes: Buffer, written?: () => void): void {
    if (this.#ended) {
      if (written !== undefined) queueMicrotask(written);
      return;
    }
    this.#out.push(bytes);
    this.#outBytes += bytes.length;
    if (written !== undefined) this.#listeners.push({ behind: this.#handedOver + this.#outBytes, written });
    if (this.#writing) return;
    if (this.#outBytes > joinedBytes) return this.#write();
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#turnOver);
  }

  /** The same for frames that are put together at once: `fill` writes them, so many bytes, up to `maxPartBytes`. */
  sendPart(length: number, fill: (part: Buffer) => void, written?: () => void): void {
    const buffer = this.#buffers.take(length);
    const part = buffer.subarray(0, length);
    fill(part);
    this.send(part, () => {
      // One that broke off may still be read by the socket.
      if (!this.#socket.destroyed) this.#buffers.give(buffer);
      written?.();
    });
  }

  /** What the peer asks for by its frames. Throws a ConnectionError when it asks and does not read the answers. */
  answer(bytes: Buffer): void {
    if (this.#answers >= maxWaitingAnswers) {
      throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'a peer that asks and does not read');
    }
    this.#answers++;
    this.send(bytes, this.#answered);
  }

  /** Writes nothing more, not even what is there. */
  end(): void {
    this.#ended = true;
    this.#out = [];
    this.#next = 0;
    this.#at = 0;
    this.#outBytes = 0;
    if (!this.#writing) this.#tell(Number.POSITIVE_INFINITY);
  }

  /** Hands all that is there to the socket, for the case that it is closed. */
  flush(): void {
    while (this.#outBytes > 0) this.#write();
  }

  readonly #turnOver = (): void => {
    this.#scheduled = false;
    if (!this.#writing) this.#write();
  };

  readonly #answered = (): void => {
    this.#answers--;
  };

  /**
   * Writes as much as one write takes. There is one at a time: of several that wait, Node.js's TLS makes one by copying
   * them into memory that it takes from the system and gives back each time.
   */
  #write(): void {
    if (this.#outBytes === 0) return;
    if (!this.#socket.writable) return this.end();
    const first = this.#out[this.#next] as Buffer;
    const rest = first.length - this.#at;
    const length = Math.min(Math.max(rest, joinedBytes), this.#outBytes, maxPartBytes);
    const apart = rest >= length;
    const buffer = apart || length <= pooledBytes ? undefined : this.#buffers.take(length);
    const bytes = apart
      ? first.subarray(this.#at, this.#at + length)
      : this.#copied((buffer ?? Buffer.allocUnsafe(length)).subarray(0, length));
    if (apart) this.#advance(length);
    this.#outBytes -= length;
    this.#handedOver += length;
    this.#socket.write(bytes, (error) => {
      // One that broke off may still be read by the socket.
      if (!error && buffer !== undefined) this.#buffers.give(buffer);
      this.#wrote(length);
    });
  }

  /** Fills `into` with what comes next. */
  #copied(into: Buffer): Buffer {
    for (let at = 0; at < into.length; ) {
      const part = this.#out[this.#next] as Buffer;
      const length = Math.min(part.length - this.#at, into.length - at);
      const whole = length === part.length;
      into.set(whole ? part : part.subarray(this.#at, this.#at + length), at);
      at += length;
      this.#advance(length);
    }
    return into;
  }

  /** So many bytes of the next part, at most all of it, need not be kept any more. */
  #advance(length: number): void {
    this.#at += length;
    if (this.#at < (this.#out[this.#next] as Buffer).length) return;
    this.#at = 0;
    this.#next++;
    const done = this.#next === this.#out.length;
    if (!done && (this.#next < leastTrim || this.#next * 2 < this.#out.length)) return;
    this.#out = done ? [] : this.#out.slice(this.#next);
    this.#next = 0;
  }

  #wrote(length: number): void {
    this.#written += length;
    // What is still to be written may be of the same parts as what was dropped.
    if (!this.#ended) this.#tell(this.#written);
    else if (!this.#writing) this.#tell(Number.POSITIVE_INFINITY);
    if (!this.#writing) this.#write();
  }

  #tell(behind: number): void {
    const listeners = this.#listeners;
    let count = 0;
    while (count < listeners.length && (listeners[count] as WriteListener).behind <= behind) count++;
    if (count > 0) for (const { written } of listeners.splice(0, count)) written();
  }
}
