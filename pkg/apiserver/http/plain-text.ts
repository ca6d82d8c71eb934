import type { ApiResponse } from '#apiserver/http/exchange.js';

/** Of a text that a browser is not to take for anything else, as Go's `http.Error` has them. */
export const plainTextHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
};

export function plainText(status: number, body: string): ApiResponse {
  return { status, headers: { ...plainTextHeaders }, body: Buffer.from(body) };
}
