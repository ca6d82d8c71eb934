/** Requests and answers of both versions of HTTP, as Node.js has them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

export function isHttp2(response: Response): response is Http2ServerResponse {
  return 'stream' in response;
}

/** Ends an answer so that its client sees that it is not the whole one. */
export function breakOff(response: Response): void {
  if (isHttp2(response)) {
    if (!response.stream.destroyed) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  } else response.destroy();
}

/** An answer of the controller's own. */
export function answer(
  response: Response,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(`${text}\n`);
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(body.length),
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  (response as ServerResponse).end(body);
}
