/** Decodes the messages in a watch's body. */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { StatusError } from '#apimachinery/errors/status.js';
import type { ApiObject, WatchEvent } from '#client/client.js';
import { LineReader } from '#client/rest/lines.js';
import { isStatus } from '#client/rest/response.js';
import { TransportError } from '#http/client/transport-error.js';

/** A message as sent by the server, not validated yet. */
export interface WatchMessage {
  readonly type: unknown;
  readonly object: unknown;
}

/** Decodes messages from the chunks of a watch's body. */
export interface WatchReader {
  /** The messages that the chunk completes, including ERROR. Throws TransportError for invalid data. */
  push(chunk: Buffer): Iterable<WatchMessage>;
}

/** Reads JSON messages, one per line. */
export class JsonWatchReader implements WatchReader {
  readonly #lines = new LineReader();
  readonly #read: (object: unknown) => unknown;

  /** `read` converts each event's object. */
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

/** Converts a message to an event. Throws the StatusError of an ERROR event, and TransportError for an invalid one. */
export function watchEvent<T extends ApiObject>({ type, object }: WatchMessage): WatchEvent<T> {
  if (type === 'ERROR') throw new StatusError(isStatus(object) ? object : { message: 'watch failed', code: 500 });
  const isEventType = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK';
  if (isEventType && typeof object === 'object' && object !== null && 'metadata' in object) {
    return { type, object: object as T };
  }
  throw new TransportError('Protocol', 'a message of the watch is not an event');
}
