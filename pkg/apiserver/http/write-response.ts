/** Writes an ApiResponse to a Node.js response, with back-pressure. */
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { ApiResponse } from '#apiserver/http/exchange.js';

type Target = ServerResponse | Http2ServerResponse;

/** Rejects when the client goes away before the end; the source is told by ending its iteration. */
export async function writeResponse(target: Target, response: ApiResponse, headOnly: boolean): Promise<void> {
  const { status, headers, body } = response;
  if (body === undefined || Buffer.isBuffer(body)) {
    if (body !== undefined) headers['content-length'] = String(body.length);
    target.writeHead(status, headers);
    if (headOnly || body === undefined) target.end();
    else target.end(body);
    return;
  }
  target.writeHead(status, headers);
  if (headOnly) {
    target.end();
    return;
  }
  // Clients of a watch wait for the headers before the first event.
  if ('flushHeaders' in target) target.flushHeaders();
  await pump(target, body);
  target.end();
}

async function pump(target: Target, body: AsyncIterable<Buffer>): Promise<void> {
  const source = body[Symbol.asyncIterator]();
  let closed = target.destroyed;
  let wake: (() => void) | undefined;
  const onClose = () => {
    closed = true;
    wake?.();
    // Ends a source that is waiting for something to send.
    void source.return?.();
  };
  const onDrain = () => wake?.();
  target.once('close', onClose);
  target.on('drain', onDrain);
  try {
    for (;;) {
      const next = await source.next();
      if (next.done === true) return;
      if (closed) throw new Error('connection closed');
      if (write(target, next.value)) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (closed) resolve();
      });
      wake = undefined;
      if (closed) throw new Error('connection closed');
    }
  } finally {
    target.off('close', onClose);
    target.off('drain', onDrain);
    await source.return?.();
  }
}

function write(target: Target, bytes: Buffer): boolean {
  return (target as ServerResponse).write(bytes);
}
