/** gRPC's framing of messages: a flag of compression, the length in four bytes, the message. */
import { GrpcError, grpcStatus } from '#storage/etcd/grpc/status.js';

const prefixBytes = 5;
/** Larger than any page that is asked for; a length beyond it is not believed. */
const maxMessageBytes = 1024 ** 3;

/** Bytes, or what is still to be written as such: it is written to its place behind the prefix. */
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

/** Finds messages in a stream of bytes. */
export class FrameReader {
  #parts: Buffer[] = [];
  #length = 0;
  /** Bytes that must be there before there is something to do. */
  #needed = prefixBytes;

  /** The messages that the chunk completes, as views of what was received. Throws GrpcErrors. */
  push(chunk: Buffer): Buffer[] {
    this.#parts.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return [];
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts, this.#length);
    const messages: Buffer[] = [];
    let at = 0;
    for (;;) {
      this.#needed = needed(bytes, at);
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

/** Bytes of the frame that begins there; of its prefix as long as that is not complete. */
function needed(bytes: Buffer, at: number): number {
  if (bytes.length - at < prefixBytes) return prefixBytes;
  if (bytes[at] !== 0) throw new GrpcError(grpcStatus.INTERNAL, 'a compressed message, which was not agreed upon');
  const length = bytes.readUInt32BE(at + 1);
  if (length > maxMessageBytes) {
    throw new GrpcError(
      grpcStatus.RESOURCE_EXHAUSTED,
      `received message larger than max (${length} vs. ${maxMessageBytes})`,
    );
  }
  return prefixBytes + length;
}
