/** Entity tags: a client that has the answer already is told so instead of getting it again (RFC 9110, 8.8.3, 13.1.2). */
import { createHash } from 'node:crypto';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';

/** The tag of these bytes, quoted as in headers. */
function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('hex').toUpperCase()}"`;
}

/** True when the request says that it has the entity with that tag. */
export function hasEntity(request: Pick<ApiRequest, 'headers'>, etag: string): boolean {
  const header = request.headers['if-none-match'];
  if (header === undefined) return false;
  return header.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag === etag || tag === `W/${etag}`;
  });
}

/** An answer with its tag, or 304 in its place. Answers that are no whole buffer stay as they are. */
export function tagged(request: Pick<ApiRequest, 'headers'>, response: ApiResponse): ApiResponse {
  if (response.status !== 200 || !Buffer.isBuffer(response.body)) return response;
  const etag = etagOf(response.body);
  const vary = { etag, vary: 'Accept-Encoding, Accept' };
  if (hasEntity(request, etag)) return { status: 304, headers: vary, body: undefined };
  return { ...response, headers: { ...response.headers, ...vary } };
}
