/** Entity tags: a client that already has the response gets 304 instead of its body (RFC 9110, 8.8.3, 13.1.2). */
import { createHash } from 'node:crypto';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';

function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('hex').toUpperCase()}"`;
}

/** True when the request's If-None-Match names the tag. */
export function hasEntity(request: Pick<ApiRequest, 'headers'>, etag: string): boolean {
  const header = request.headers['if-none-match'];
  if (header === undefined) return false;
  return header.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag === etag || tag === `W/${etag}`;
  });
}

/** Adds the tag, or replaces the response by 304. Streamed responses stay unchanged. */
export function tagged(request: Pick<ApiRequest, 'headers'>, response: ApiResponse): ApiResponse {
  if (response.status !== 200 || !Buffer.isBuffer(response.body)) return response;
  const etag = etagOf(response.body);
  const vary = { etag, vary: 'Accept-Encoding, Accept' };
  if (hasEntity(request, etag)) return { status: 304, headers: vary, body: undefined };
  return { ...response, headers: { ...response.headers, ...vary } };
}
