/** Writes large responses in parts, so that none of them occupies much memory or blocks the event loop. */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { IterableBody } from '#http/server/body.js';

/** Smaller responses are sent whole and uncompressed; 1.24 has the same bound for gzip. */
export const gzipThresholdBytes = 128 * 1024;

/** zlib level: 1.24's choice between speed and size. */
export const gzipLevel = 4;

/** Memory that zlib needs per stream. */
const gzipBytes = 256 * 1024;

export const gzipHeaders = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' } as const;

/** Size of the pieces in which parts are sent. */
const pieceBytes = 64 * 1024;

export interface PartsOptions {
  readonly contentType: string;
  readonly gzip: boolean;
  readonly turns: Pick<TurnQueue, 'pause'>;
}

/** A response in parts, compressed if it is large and `gzip` is set. Other work may run where a part is undefined. */
export async function partsResponse(
  parts: Iterable<Buffer | undefined>,
  { contentType, gzip, turns }: PartsOptions,
): Promise<ApiResponse> {
  const headers: Record<string, string> = { 'content-type': contentType };
  const source = parts[Symbol.iterator]();
  const first: Buffer[] = [];
  let size = 0;
  while (size < gzipThresholdBytes) {
    const { done, value } = source.next();
    if (done === true) return { status: 200, headers, body: Buffer.concat(first, size) };
    if (value === undefined) await turns.pause();
    else {
      first.push(value);
      size += value.length;
    }
  }
  const body = new IterableBody(paced(first, source, turns), { held: 2 * pieceBytes });
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

/** The parts in larger pieces. */
async function* paced(
  first: readonly Buffer[],
  rest: Iterator<Buffer | undefined>,
  turns: Pick<TurnQueue, 'pause'>,
): AsyncGenerator<Buffer, void, void> {
  yield Buffer.concat(first);
  let piece: Buffer[] = [];
  let size = 0;
  try {
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      if (next.value === undefined) await turns.pause();
      else {
        piece.push(next.value);
        size += next.value.length;
      }
      if (size < pieceBytes) continue;
      yield piece.length === 1 && piece[0] !== undefined ? piece[0] : Buffer.concat(piece, size);
      [piece, size] = [[], 0];
    }
  } finally {
    rest.return?.();
  }
  if (size > 0) yield Buffer.concat(piece, size);
}
