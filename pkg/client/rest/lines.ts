/** Splits a byte stream at newlines. */
import { TransportError } from '#http/client/transport-error.js';

const newline = 0x0a;

/** Far above any API object; a longer line violates the protocol. */
const defaultMaxLineBytes = 64 * 1024 * 1024;

/**
 * Yields non-empty lines without newlines from the chunks of a stream. Copies each byte at most once, however many chunks
 * a line spans.
 */
export class LineReader {
  readonly #maxLineBytes: number;
  /** Received parts of an incomplete line. */
  #parts: Buffer[] = [];
  #partBytes = 0;

  constructor(maxLineBytes = defaultMaxLineBytes) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The lines that the chunk completes. Throws TransportError for a line that is too long. */
  *push(chunk: Buffer): Iterable<Buffer> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const tail = chunk.subarray(start, end);
      const line = this.#parts.length === 0 ? tail : Buffer.concat([...this.#parts, tail]);
      this.#parts = [];
      this.#partBytes = 0;
      start = end + 1;
      if (line.length > 0) yield line;
    }
    if (start === chunk.length) return;
    const remaining = start === 0 ? chunk : chunk.subarray(start);
    this.#parts.push(remaining);
    this.#partBytes += remaining.length;
    if (this.#partBytes > this.#maxLineBytes)
      throw new TransportError('Protocol', `a line is longer than ${this.#maxLineBytes} bytes`);
  }
}

/** The lines of a whole stream. An unfinished last line is dropped, since the stream broke off. */
export async function* readLines(chunks: AsyncIterable<Buffer>, maxLineBytes?: number): AsyncGenerator<Buffer> {
  const reader = new LineReader(maxLineBytes);
  for await (const chunk of chunks) yield* reader.push(chunk);
}
