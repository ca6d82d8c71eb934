/** The messages of a watch, from the lines of its body. */
import { StatusError } from '#apimachinery/errors/status.js';
import type { ApiObject, WatchEvent } from '#client/client.js';
import { TransportError } from '#client/http/transport-error.js';
import { readLines } from '#client/rest/lines.js';
import { isStatus } from '#client/rest/response.js';

/** As the server sends it, not yet looked at. */
export interface WatchMessage {
  readonly type: unknown;
  readonly object: unknown;
}

/** Throws TransportError for a line that is no message. */
export async function* readWatch(body: AsyncIterable<Buffer>): AsyncGenerator<WatchMessage> {
  for await (const line of readLines(body)) yield decode(line);
}

function decode(line: Buffer): WatchMessage {
  let event: unknown;
  try {
    event = JSON.parse(line.toString('utf8'));
  } catch (error) {
    throw new TransportError('Protocol', 'a watch event is not JSON', { cause: error });
  }
  if (typeof event === 'object' && event !== null && 'type' in event && 'object' in event) return event;
  throw new TransportError('Protocol', 'a line of the watch is not an event');
}

/** The event that a message is. Throws the StatusError of an ERROR event, TransportError for anything that is none. */
export function watchEvent<T extends ApiObject>({ type, object }: WatchMessage): WatchEvent<T> {
  if (type === 'ERROR') throw new StatusError(isStatus(object) ? object : { message: 'watch failed', code: 500 });
  const known = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK';
  if (known && typeof object === 'object' && object !== null && 'metadata' in object) {
    return { type, object: object as T };
  }
  throw new TransportError('Protocol', 'a message of the watch is not an event');
}
