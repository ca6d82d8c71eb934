/** Reads a request's body whole, up to a limit. */
import type { Readable } from 'node:stream';

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';
}

const empty = Buffer.alloc(0);

/** Throws a BodyTooLargeError as soon as more than `maxBytes` are announced or arrive. */
export async function readBody(
  request: Readable & { readonly method?: string | undefined; readonly headers: Record<string, unknown> },
  maxBytes: number,
): Promise<Buffer> {
  const announced = request.headers['content-length'];
  if (announced === undefined && (request.method === 'GET' || request.method === 'HEAD')) return empty;
  if (announced !== undefined && Number(announced) > maxBytes) throw new BodyTooLargeError();
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    const bytes = part as Buffer;
    size += bytes.length;
    if (size > maxBytes) throw new BodyTooLargeError();
    parts.push(bytes);
  }
  return parts.length === 1 ? (parts[0] ?? empty) : Buffer.concat(parts, size);
}
