/** Cuts a byte stream at newlines. */
import { TransportError } from '#client/http/transport-error.js';

const newline = 0x0a;

/** No object of the API comes near this; a longer line is not the protocol. */
const defaultMaxLineBytes = 64 * 1024 * 1024;

/**
 * The lines of a stream, without their newlines and without empty ones. Each byte is copied at most once, however
 * many chunks a line spans. An unfinished last line is dropped: the stream broke off in it.
 */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  maxLineBytes = defaultMaxLineBytes,
): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let partBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const tail = chunk.subarray(start, end);
      const line = parts.length === 0 ? tail : Buffer.concat([...parts, tail]);
      parts = [];
      partBytes = 0;
      start = end + 1;
      if (line.length > 0) yield line;
    }
    if (start === chunk.length) continue;
    const rest = start === 0 ? chunk : chunk.subarray(start);
    parts.push(rest);
    partBytes += rest.length;
    if (partBytes > maxLineBytes) throw new TransportError('Protocol', `a line is longer than ${maxLineBytes} bytes`);
  }
}
