/** Sends frames, those of one task in one write. */
import type { Duplex } from 'node:stream';
import { ConnectionError } from '#storage/etcd/http2/connection-error.js';
import { resetCode } from '#storage/etcd/http2/frames.js';

/** Frames of fewer bytes are put together into one write; copying them costs less than writing them apart. */
const joinedBytes = 64 * 1024;
/** Answers that wait for a peer that asks and does not read. */
const maxWaitingAnswers = 10_000;

export class FrameWriter {
  readonly #socket: Duplex;
  #out: Buffer[] = [];
  #ended = false;
  /** Answers since the peer last read all. */
  #answers = 0;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** At the end of the present task, so that calls made together leave together. Without effect after `end`. */
  send(bytes: Buffer): void {
    if (this.#ended) return;
    if (this.#out.length === 0) queueMicrotask(() => this.#flush());
    this.#out.push(bytes);
  }

  /** What the peer asks for by its frames. Throws a ConnectionError when it asks and does not read the answers. */
  answer(bytes: Buffer): void {
    if (!this.#socket.writableNeedDrain) this.#answers = 0;
    this.#answers++;
    if (this.#answers > maxWaitingAnswers) {
      throw new ConnectionError(resetCode.ENHANCE_YOUR_CALM, 'a server that asks and does not read');
    }
    this.send(bytes);
  }

  /** Writes what is there, and nothing more. */
  end(): void {
    this.#flush();
    this.#ended = true;
  }

  #flush(): void {
    const out = this.#out;
    if (out.length === 0) return;
    this.#out = [];
    const socket = this.#socket;
    if (!socket.writable) return;
    let length = 0;
    for (const part of out) length += part.length;
    if (length <= joinedBytes) {
      socket.write(out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out, length));
      return;
    }
    socket.cork();
    for (const part of out) socket.write(part);
    socket.uncork();
  }
}
