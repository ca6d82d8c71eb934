/** Writes large responses in parts, so that none of them occupies much memory or blocks the event loop. */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { IterableBody, PartsBody } from '#http/server/body.js';

/** Smaller responses are sent whole and uncompressed; 1.24 has the same bound for gzip. */
export const gzipThresholdBytes = 128 * 1024;

/** zlib level: 1.24's choice between speed and size. */
export const gzipLevel = 4;

/** Memory that zlib needs per stream. */
const gzipBytes = 256 * 1024;

export const gzipHeaders = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' } as const;

/** A response in parts, compressed if it is large and `gzip` is set. */
export function partsResponse(parts: Iterable<Buffer>, contentType: string, gzip: boolean): ApiResponse {
  const headers: Record<string, string> = { 'content-type': contentType };
  const source = parts[Symbol.iterator]();
  const first: Buffer[] = [];
  let size = 0;
  while (size < gzipThresholdBytes) {
    const next = source.next();
    if (next.done === true) return { status: 200, headers, body: Buffer.concat(first, size) };
    first.push(next.value);
    size += next.value.length;
  }
  const body = new PartsBody(chained(first, source));
  if (!gzip) return { status: 200, headers, body };
  return {
    status: 200,
    headers: { ...headers, ...gzipHeaders },
    body: new IterableBody(compressed(body), { held: gzipBytes }),
  };
}

async function* compressed(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const gzip = createGzip({ level: gzipLevel });
  // Failures of the source or the client reach the reader of the compressed stream.
  pipeline(Readable.from(body), gzip, () => undefined);
  yield* gzip as AsyncIterable<Buffer>;
}

function* chained(first: readonly Buffer[], rest: Iterator<Buffer>): Generator<Buffer> {
  yield* first;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
}
