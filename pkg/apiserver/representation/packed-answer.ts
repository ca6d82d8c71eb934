/** Documents that are kept compressed, as answers. */
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { PackedRow } from '#apiserver/representation/packed.js';
import { acceptsGzip } from '#apiserver/representation/respond.js';
import { IterableBody, PartsBody } from '#http/server/body.js';

/** Larger ones are sent in parts. */
const wholeBytes = 128 * 1024;
/** Memory that taking a part out takes. */
const heldBytes = 256 * 1024;

/** Shorter ones than `minGzipBytes` are sent as they are. */
export async function packedAnswer(
  context: Pick<RequestContext, 'request'>,
  row: PackedRow,
  headers: Record<string, string>,
  minGzipBytes: number,
): Promise<ApiResponse> {
  const gzip = row.length >= minGzipBytes && acceptsGzip(context.request);
  if (gzip) {
    const packed = { ...headers, 'content-encoding': 'gzip' };
    const { gzipLength: length } = row;
    if (length <= wholeBytes) return { status: 200, headers: packed, body: Buffer.concat([...row.gzip()], length) };
    return { status: 200, headers: packed, body: new PartsBody(row.gzip(), { length }) };
  }
  if (row.length > wholeBytes) {
    return { status: 200, headers, body: new IterableBody(row.plain(), { length: row.length, held: heldBytes }) };
  }
  const parts: Buffer[] = [];
  for await (const part of row.plain()) parts.push(part);
  return { status: 200, headers, body: Buffer.concat(parts) };
}
