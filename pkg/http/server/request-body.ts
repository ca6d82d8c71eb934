/** Reads a request's body whole, up to a limit. */
import type { Readable } from 'node:stream';

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';
}

const empty = Buffer.alloc(0);

/** Throws a BodyTooLargeError as soon as more than `maxBytes` are announced or arrive. */
export function readBody(
  request: Readable & { readonly method?: string | undefined; readonly headers: Record<string, unknown> },
  maxBytes: number,
): Promise<Buffer> {
  const announced = request.headers['content-length'];
  if (announced === undefined && (request.method === 'GET' || request.method === 'HEAD')) return Promise.resolve(empty);
  if (announced !== undefined && Number(announced) > maxBytes) return Promise.reject(new BodyTooLargeError());
  if (request.destroyed) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let ended = false;
    request.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= maxBytes) {
        parts.push(part);
        return;
      }
      ended = true;
      parts.length = 0;
      request.pause();
      reject(new BodyTooLargeError());
    });
    request.on('end', () => {
      ended = true;
      resolve(parts.length === 1 ? (parts[0] ?? empty) : Buffer.concat(parts, size));
    });
    request.on('error', reject);
    request.on('close', () => {
      if (!ended) reject(brokenOff());
    });
  });
}

function brokenOff(): Error {
  return new Error('the request was broken off');
}
