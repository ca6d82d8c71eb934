/** Sends frames, those of one turn of the event loop in one write. */
import type { Duplex } from 'node:stream';
import { ConnectionError } from '#http2/connection-error.js';
import { resetCode } from '#http2/frames.js';

/**
 * Frames of fewer bytes are put together into one write; copying them costs less than writing them apart. So many are
 * written at once: the peer may begin.
 */
const joinedBytes = 64 * 1024;
/** So few bytes come out of Node.js's own pool; memory for more costs as much as writing them. */
const pooledBytes = 4 * 1024;
/** Buffers of `joinedBytes` that wait for the next write. */
const maxSpare = 16;

/** The memory of writes under way, shared by connections. */
export class WriteBuffers {
  readonly #spare: Buffer[] = [];

  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(joinedBytes);
  }

  /** What was written has left. */
  give(buffer: Buffer): void {
    if (this.#spare.length < maxSpare) this.#spare.push(buffer);
  }
}
/** Answers that wait for a peer that asks and does not read. */
const maxWaitingAnswers = 10_000;

export class FrameWriter {
  readonly #socket: Duplex;
  readonly #buffers: WriteBuffers;
  #out: Buffer[] = [];
  #outBytes = 0;
  #ended = false;
  /** Told when what is there has been written. */
  #written: (() => void)[] = [];
  /** Answers since the peer last read all. */
  #answers = 0;

  constructor(socket: Duplex, buffers = new WriteBuffers()) {
    this.#socket = socket;
    this.#buffers = buffers;
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
    if (this.#out.length === 0) setImmediate(this.flush);
    this.#out.push(bytes);
    this.#outBytes += bytes.length;
    if (written !== undefined) this.#written.push(written);
    if (this.#outBytes > joinedBytes) this.flush();
  }

  /** What the peer asks for by its frames. Throws a ConnectionError when it asks and does not read the answers. */
  answer(bytes: Buffer): void {
    if (!this.#socket.writableNeedDrain) this.#answers = 0;
    this.#answers++;
    if (this.#answers > maxWaitingAnswers) {
      throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'a peer that asks and does not read');
    }
    this.send(bytes);
  }

  /** Writes nothing more, not even what is there. */
  end(): void {
    this.#out = [];
    this.#outBytes = 0;
    this.#ended = true;
    this.#tell(this.#written);
    this.#written = [];
  }

  /** Writes what is there. */
  readonly flush = (): void => {
    const out = this.#out;
    const length = this.#outBytes;
    if (out.length === 0) return;
    this.#out = [];
    this.#outBytes = 0;
    const written = this.#written;
    if (written.length > 0) this.#written = [];
    const socket = this.#socket;
    if (!socket.writable) return this.#tell(written);
    if (length <= joinedBytes && length > pooledBytes && out.length > 1) return this.#joined(out, written);
    const done = written.length === 0 ? undefined : () => this.#tell(written);
    if (length <= joinedBytes) {
      socket.write(out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out, length), done);
      return;
    }
    socket.cork();
    for (const [i, part] of out.entries()) socket.write(part, i === out.length - 1 ? done : undefined);
    socket.uncork();
  };

  #joined(out: readonly Buffer[], written: readonly (() => void)[]): void {
    const buffer = this.#buffers.take();
    let length = 0;
    for (const part of out) {
      buffer.set(part, length);
      length += part.length;
    }
    this.#socket.write(buffer.subarray(0, length), (error) => {
      // One that broke off may still be read by the socket.
      if (!error) this.#buffers.give(buffer);
      this.#tell(written);
    });
  }

  #tell(written: readonly (() => void)[]): void {
    for (const told of written) told();
  }
}
