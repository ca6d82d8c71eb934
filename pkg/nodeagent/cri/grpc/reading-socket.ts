import { Socket } from 'node:net';

type Done = (error?: Error | null) => void;

/**
 * A connection that is read to its end even when nothing can be written to it any more. A peer that closes with unread
 * bytes before it resets the connection; the system keeps what had arrived until it is read, but Node.js closes a socket
 * at the first write that fails, and drops it. Here such writes go nowhere: the reader meets the end, or the failure,
 * behind the peer's last words.
 */
export class ReadingSocket extends Socket {
  override _write(chunk: Buffer, encoding: BufferEncoding, done: Done): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: Done): void {
    super._writev?.(chunks, () => done());
  }
}
