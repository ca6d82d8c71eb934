/** Splits the bytes of a watch into its events. */
import { WatchFrameReader } from '#apimachinery/codec/watch-event-frames.js';

export type EventFormat = 'json' | 'protobuf';

export interface SplitEvent {
  /** As on the wire, with what separates it from others. */
  readonly bytes: Buffer;
  readonly isBookmark: boolean;
}

const bookmarkJson = Buffer.from('{"type":"BOOKMARK"');
/** Field 1 of the message, of eight bytes. */
const bookmarkFrame = Buffer.from('\n\u0008BOOKMARK', 'latin1');
const newline = 10;

export class EventSplitter {
  readonly #format: EventFormat;
  readonly #frames = new WatchFrameReader({ maxFrameBytes: 64 * 1024 * 1024 });
  #rest: Buffer = Buffer.alloc(0);

  constructor(format: EventFormat) {
    this.#format = format;
  }

  /** The events that these bytes complete. */
  push(bytes: Buffer): SplitEvent[] {
    return this.#format === 'json' ? this.#lines(bytes) : this.#frames.pushRaw(Buffer.from(bytes)).map(framed);
  }

  #lines(bytes: Buffer): SplitEvent[] {
    const events: SplitEvent[] = [];
    let all = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
    for (let end = all.indexOf(newline); end >= 0; end = all.indexOf(newline)) {
      const event = all.subarray(0, end + 1);
      events.push({ bytes: event, isBookmark: startsWith(event, bookmarkJson) });
      all = all.subarray(end + 1);
    }
    this.#rest = all;
    return events;
  }
}

function framed(message: Buffer): SplitEvent {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  return { bytes: Buffer.concat([length, message]), isBookmark: startsWith(message, bookmarkFrame) };
}

function startsWith(bytes: Buffer, head: Buffer): boolean {
  return bytes.length >= head.length && bytes.compare(head, 0, head.length, 0, head.length) === 0;
}
