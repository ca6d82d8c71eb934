/** A watch through the handler, in JSON or Protobuf, read event by event. */
import type { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { WatchFrameReader } from '#apimachinery/codec/watch-event-frames.js';
import type { ApiServer } from '#apiserver/build/api-server.js';

export interface WatchedEvent {
  readonly type: string;
  readonly object: { readonly kind?: string; readonly metadata: { readonly name?: string } };
}

export class Watching {
  readonly #aborting = new AbortController();
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #decode: (chunk: Buffer) => WatchedEvent[];
  readonly #seen: WatchedEvent[] = [];

  private constructor(chunks: AsyncIterator<Buffer>, decode: (chunk: Buffer) => WatchedEvent[]) {
    this.#chunks = chunks;
    this.#decode = decode;
  }

  /** Resolves with the response's headers. Throws if the response is not a stream. */
  static async open(
    server: ApiServer,
    url: string,
    form: { readonly accept: string; readonly codec: ObjectCodec },
  ): Promise<Watching> {
    const aborting = new AbortController();
    const { status, body } = await server.handler({
      method: 'GET',
      url,
      headers: { accept: form.accept },
      body: Buffer.alloc(0),
      remoteAddress: '127.0.0.1',
      signal: aborting.signal,
    });
    if (body === undefined || Buffer.isBuffer(body)) throw new Error(`${url}: ${status} ${String(body)}`);
    const decode = form.accept.includes('protobuf') ? protobufEvents(form.codec) : jsonEvents();
    const watching = new Watching(body[Symbol.asyncIterator](), decode);
    watching.#aborting.signal.addEventListener('abort', () => aborting.abort());
    return watching;
  }

  /** All events up to the first of that type; throws if the stream ends before. */
  async until(type: string): Promise<readonly WatchedEvent[]> {
    while (!this.#seen.some((event) => event.type === type)) {
      const { value, done } = await this.#chunks.next();
      if (done === true) throw new Error(`the watch ended without ${type}`);
      this.#seen.push(...this.#decode(value));
    }
    return this.#seen;
  }

  async close(): Promise<void> {
    this.#aborting.abort();
    await this.#chunks.return?.();
  }
}

function jsonEvents(): (chunk: Buffer) => WatchedEvent[] {
  let text = '';
  return (chunk) => {
    text += chunk.toString();
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    return lines.map((line) => JSON.parse(line) as WatchedEvent);
  };
}

function protobufEvents(codec: ObjectCodec): (chunk: Buffer) => WatchedEvent[] {
  const frames = new WatchFrameReader();
  return (chunk) =>
    [...frames.push(chunk)].map(({ type, object }) => ({
      type,
      object: codec.decode(object, { encoding: 'protobuf' }).object as unknown as WatchedEvent['object'],
    }));
}
