/** Big answers in pieces: written as they are made, so that neither memory nor the event loop is held by one of them. */
import { pipeline, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { ApiResponse } from '#apiserver/http/exchange.js';

/** Bytes of one piece: big enough to make a write's cost small, small enough to be made in well under a millisecond. */
const pieceBytes = 64 * 1024;

/** An answer that fits in so many bytes is sent whole, with its length. */
const wholeBytes = 128 * 1024;

const gzipLevel = 4;

/** Concatenates parts to pieces of about `pieceBytes`. */
export function* pieces(parts: Iterable<Buffer>): Generator<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  for (const part of parts) {
    held.push(part);
    size += part.length;
    if (size < pieceBytes) continue;
    yield Buffer.concat(held, size);
    held = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(held, size);
}

/** An answer made of parts. Compressed when it is big and `gzip` is set. */
export function partsResponse(parts: Iterable<Buffer>, contentType: string, gzip: boolean): ApiResponse {
  const headers: Record<string, string> = { 'content-type': contentType };
  const source = pieces(parts);
  const first: Buffer[] = [];
  let size = 0;
  while (size < wholeBytes) {
    const next = source.next();
    if (next.done === true) return { status: 200, headers, body: Buffer.concat(first, size) };
    first.push(next.value);
    size += next.value.length;
  }
  if (!gzip) return { status: 200, headers, body: paced(first, source) };
  headers['content-encoding'] = 'gzip';
  headers['vary'] = 'Accept-Encoding';
  const compressed = createGzip({ level: gzipLevel });
  // A failure of the source, or of the client to read on, reaches whoever reads the compressed stream.
  pipeline(Readable.from(paced(first, source)), compressed, () => undefined);
  return { status: 200, headers, body: compressed };
}

/** Lets everything else run between two pieces. */
async function* paced(first: readonly Buffer[], rest: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  for (const piece of rest) {
    yield piece;
    await setImmediate();
  }
}
