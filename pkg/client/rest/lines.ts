/** Cuts a byte stream at newlines. */
import { TransportError } from '#http/client/transport-error.js';

const newline = 0x0a;

/** No object of the API comes near this; a longer line is not the protocol. */
const defaultMaxLineBytes = 64 * 1024 * 1024;

/**
 * Lines without their newlines and without empty ones, out of the pieces of a stream. Each byte is copied at most once,
 * however many pieces a line spans.
 */
export class LineReader {
  readonly #maxLineBytes: number;
  /** What has come of a line that is not whole yet. */
  #parts: Buffer[] = [];
  #partBytes = 0;

  constructor(maxLineBytes = defaultMaxLineBytes) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The lines that the piece completes. Throws TransportError for a line that is too long. */
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
    const rest = start === 0 ? chunk : chunk.subarray(start);
    this.#parts.push(rest);
    this.#partBytes += rest.length;
    if (this.#partBytes > this.#maxLineBytes)
      throw new TransportError('Protocol', `a line is longer than ${this.#maxLineBytes} bytes`);
  }
}

/** The lines of a whole stream. An unfinished last line is dropped: the stream broke off in it. */
export async function* readLines(chunks: AsyncIterable<Buffer>, maxLineBytes?: number): AsyncGenerator<Buffer> {
  const reader = new LineReader(maxLineBytes);
  for await (const chunk of chunks) yield* reader.push(chunk);
}
