import type { IncomingMessage } from 'node:http';
import type { ApiResponse } from '#apiserver/http/exchange.js';

/** Characters of a host and port as Go's servers take them (golang.org/x/net/http/httpguts, ValidHostHeader). */
const valid = /^[!$%&'()*+,\-.0-9:;=@A-Z[\]_a-z~]*$/;

/** Why a request over HTTP/1 is refused for its Host header, in the words of 1.24's server; undefined: it is not. */
export function hostFailure(
  request: Pick<IncomingMessage, 'httpVersionMinor' | 'headers' | 'rawHeaders'>,
): string | undefined {
  const { host } = request.headers;
  if (host === undefined) return request.httpVersionMinor >= 1 ? 'missing required Host header' : undefined;
  if (!valid.test(host)) return 'malformed Host header';
  const { rawHeaders } = request;
  let lines = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') lines += 1;
  }
  return lines > 1 ? 'too many Host headers' : undefined;
}

export function hostAnswer(failure: string): ApiResponse & { readonly body: Buffer } {
  const body = Buffer.from(`400 Bad Request: ${failure}`);
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(body.length),
    connection: 'close',
  };
  return { status: 400, headers, body };
}
