/** Sends frames; all frames of one turn of the event loop leave in one write. */
import type { Duplex } from 'node:stream';
import { BufferPool, type PooledSize } from '#apimachinery/collections/buffer-pool.js';
import { ConnectionError, resetCode } from '#http/http2/frames.js';

/**
 * Frames are joined into writes of up to four full TLS records: copying is cheaper than writing frame by frame. This
 * many bytes are written immediately, so that the peer can start.
 */
const joinedBytes = 64 * 1024;
/** A larger single part is written uncopied, up to this size. */
const maxPartBytes = 520 * 1024;
/** Smaller writes use Node.js's pool; a separate allocation would cost as much as writing. */
const pooledBytes = 4 * 1024;
/** Buffer sizes of larger writes, and how many spare buffers are kept. */
const sizes: readonly PooledSize[] = [
  { bytes: 16 * 1024, maxSpare: 32 },
  { bytes: joinedBytes, maxSpare: 32 },
  { bytes: maxPartBytes, maxSpare: 4 },
];

/** Buffers of current writes, shared by connections. */
export class WriteBuffers extends BufferPool {
  constructor() {
    super(sizes);
  }
}

/** Limit of replies that wait for a peer that does not read. */
const maxWaitingAnswers = 10_000;
/** Smallest number of written parts that is worth trimming from the queue. */
const leastTrim = 64;

interface WriteListener {
  /** Position in the stream of all queued bytes; `written` is called when everything before it was written. */
  readonly behind: number;
  readonly written: () => void;
}

export class FrameWriter {
  readonly #socket: Duplex;
  readonly #buffers: WriteBuffers;
  #out: Buffer[] = [];
  /** Position of the next byte: index of its part in `#out`, and offset in the part. */
  #next = 0;
  #at = 0;
  #outBytes = 0;
  #ended = false;
  /** Bytes handed to the socket so far, and bytes that the socket has written. */
  #handedOver = 0;
  #written = 0;
  #listeners: WriteListener[] = [];
  #scheduled = false;
  /** Replies that wait to be written. */
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
   * Queues bytes until the end of the turn: requests that arrive together make their calls in one turn, and one write
   * for all costs little more than one for a single call. `written` is called when the memory may be reused, also if
   * the connection is lost. No effect after `end`.
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

  /** Queues frames that `fill` writes into a pooled buffer of `length` bytes, at most `maxPartBytes`. */
  sendPart(length: number, fill: (part: Buffer) => void, written?: () => void): void {
    const buffer = this.#buffers.take(length);
    const part = buffer.subarray(0, length);
    fill(part);
    this.send(part, () => {
      // The socket may still read the buffer of a broken write.
      if (!this.#socket.destroyed) this.#buffers.give(buffer);
      written?.();
    });
  }

  /** Sends a reply. Throws a ConnectionError if too many replies are unread. */
  answer(bytes: Buffer): void {
    if (this.#answers >= maxWaitingAnswers) {
      throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'too many unread replies');
    }
    this.#answers++;
    this.send(bytes, this.#answered);
  }

  /** Writes nothing more, and drops the queue. */
  end(): void {
    this.#ended = true;
    this.#out = [];
    this.#next = 0;
    this.#at = 0;
    this.#outBytes = 0;
    if (!this.#writing) this.#tell(Number.POSITIVE_INFINITY);
  }

  /** Hands everything to the socket, for example before it closes. */
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
   * Writes one chunk. One write at a time: Node.js's TLS would copy several pending writes into newly allocated memory.
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
      // The socket may still read the buffer of a broken write.
      if (!error && buffer !== undefined) this.#buffers.give(buffer);
      this.#wrote(length);
    });
  }

  /** Fills `into` with the next queued bytes. */
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

  /** Advances by at most the rest of the current part. */
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
    // After `end`, pending writes may still use the same parts.
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
