/** A request's body on its way to a backend. */
import type { ClientRequest } from 'node:http';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import type { StreamedBody } from '#http/server/exchange.js';

/** Whole bodies are sent again where a kept connection turns out to be dead; longer ones are not kept for that. */
const wholeBytes = 256 * 1024;

export type PassedBody = Buffer | StreamedBody;

/** The body of a request that is passed on. Rejects with a StatusError. */
export async function bodyToPass(request: ApiRequest): Promise<PassedBody> {
  const { readBody, openBody, body, headers } = request;
  if (readBody === undefined || openBody === undefined) return body;
  const length = headers['content-length'];
  // What has no length may be one side of a conversation, whose other side is to hear each part of it at once.
  return length !== undefined && Number(length) <= wholeBytes ? readBody() : openBody();
}

export function isWhole(body: PassedBody): body is Buffer {
  return Buffer.isBuffer(body);
}

/** How the body's end is found. Always said: Node.js says nothing for methods that mostly have no body. */
export function framing(body: PassedBody): { 'transfer-encoding'?: string; 'content-length'?: string } {
  const { length } = body;
  if (length === undefined) return { 'transfer-encoding': 'chunked' };
  return length === 0 ? {} : { 'content-length': String(length) };
}

/** Sends the body as fast as the backend takes it; a client that breaks off breaks the request off. */
export function send(body: PassedBody, outgoing: ClientRequest): void {
  if (isWhole(body)) {
    outgoing.end(body);
    return;
  }
  const { source } = body;
  source.on('error', (error) => outgoing.destroy(error));
  // The answer may be there before the body is.
  outgoing.once('close', () => {
    source.unpipe(outgoing);
    body.leave();
  });
  source.pipe(outgoing);
}
