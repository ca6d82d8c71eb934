/** Messages of gRPC on a stream of bytes: each has its length in front. */

/** The compression flag, and the length in four bytes. */
export const prefixBytes = 5;

/** A message as bytes, or one that is encoded directly to its place after the prefix. */
export interface Message {
  readonly length: number;
  copy(target: Buffer, from: number): number;
}

/** The message with its prefix. */
export function frameMessage(message: Message): Buffer {
  const framed = Buffer.allocUnsafe(prefixBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  message.copy(framed, prefixBytes);
  return framed;
}

/** What a reader refuses, and the errors that say so. */
export interface FrameLimits {
  readonly maxMessageBytes: number;
  readonly compressed: () => Error;
  readonly tooLong: (length: number) => Error;
}

/** Splits a stream of bytes into messages; each byte is copied at most twice, however small the chunks are. */
export class FrameReader {
  readonly #limits: FrameLimits;
  #parts: Buffer[] = [];
  #length = 0;
  /** Bytes required for the next step. */
  #needed = prefixBytes;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** Messages completed by the chunk, as views of the received bytes. Throws the errors of the limits. */
  push(chunk: Buffer): Buffer[] {
    this.#parts.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return [];
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts, this.#length);
    const messages: Buffer[] = [];
    let at = 0;
    for (;;) {
      this.#needed = needed(bytes, at, this.#limits);
      if (bytes.length - at < this.#needed) break;
      messages.push(bytes.subarray(at + prefixBytes, at + this.#needed));
      at += this.#needed;
    }
    this.#parts = at < bytes.length ? [bytes.subarray(at)] : [];
    this.#length = bytes.length - at;
    return messages;
  }

  /** True between messages. */
  get complete(): boolean {
    return this.#length === 0;
  }
}

/** Length of the frame at `at`; of its prefix while that is incomplete. */
function needed(bytes: Buffer, at: number, { maxMessageBytes, compressed, tooLong }: FrameLimits): number {
  if (bytes.length - at < prefixBytes) return prefixBytes;
  if (bytes[at] !== 0) throw compressed();
  const length = bytes.readUInt32BE(at + 1);
  if (length > maxMessageBytes) throw tooLong(length);
  return prefixBytes + length;
}
