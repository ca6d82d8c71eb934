/** Big answers in parts: written as they are made, so that neither memory nor the event loop is held by one of them. */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { PartsBody } from '#apiserver/http/parts-body.js';

/** An answer that fits in so many bytes is sent whole, with its length. */
const wholeBytes = 128 * 1024;

const gzipLevel = 4;

/** An answer made of parts, of `length` bytes if that is known. Compressed when it is big and `gzip` is set. */
export function partsResponse(
  parts: Iterable<Buffer>,
  contentType: string,
  gzip: boolean,
  length?: number,
): ApiResponse {
  const headers: Record<string, string> = { 'content-type': contentType };
  const source = parts[Symbol.iterator]();
  const first: Buffer[] = [];
  let size = 0;
  while (size < wholeBytes) {
    const next = source.next();
    if (next.done === true) return { status: 200, headers, body: Buffer.concat(first, size) };
    first.push(next.value);
    size += next.value.length;
  }
  const body = new PartsBody(chained(first, source), length);
  if (!gzip) return { status: 200, headers, body };
  headers['content-encoding'] = 'gzip';
  headers['vary'] = 'Accept-Encoding';
  const compressed = createGzip({ level: gzipLevel });
  // A failure of the source, or of the client to read on, reaches whoever reads the compressed stream.
  pipeline(Readable.from(body), compressed, () => undefined);
  return { status: 200, headers, body: compressed };
}

function* chained(first: readonly Buffer[], rest: Iterator<Buffer>): Generator<Buffer> {
  yield* first;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
}
