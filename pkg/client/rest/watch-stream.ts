/** The messages of a watch, from the lines of its body. */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { StatusError } from '#apimachinery/errors/status.js';
import type { ApiObject, WatchEvent } from '#client/client.js';
import { LineReader } from '#client/rest/lines.js';
import { isStatus } from '#client/rest/response.js';
import { TransportError } from '#http/client/transport-error.js';

/** As the server sends it, not yet looked at. */
export interface WatchMessage {
  readonly type: unknown;
  readonly object: unknown;
}

/** Makes messages of the pieces in which a watch's body comes. */
export interface WatchReader {
  /** The messages that the piece completes, ERROR among them. Throws TransportError for what is no message. */
  push(chunk: Buffer): Iterable<WatchMessage>;
}

/** Reads messages in JSON, one a line. */
export class JsonWatchReader implements WatchReader {
  readonly #lines = new LineReader();
  readonly #read: (object: unknown) => unknown;

  /** What `read` returns of an event's object stands in its place. */
  constructor(read: (object: unknown) => unknown = (object) => object) {
    this.#read = read;
  }

  *push(chunk: Buffer): Iterable<WatchMessage> {
    for (const line of this.#lines.push(chunk)) {
      const { type, object } = decode(line);
      yield { type, object: this.#read(object) };
    }
  }
}

function decode(line: Buffer): WatchMessage {
  let event: unknown;
  try {
    event = parseJSONText(line.toString('utf8'));
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
