/** A request over HTTP/2 and its response. */
import { Readable } from 'node:stream';
import { LazyAbort } from '#apimachinery/cancellation.js';
import type { StreamFailure } from '#http/http2/client-session.js';
import { resetCode } from '#http/http2/frames.js';
import { encodeField, type HeaderField } from '#http/http2/hpack.js';
import type { ResponseHeads } from '#http/http2/response-heads.js';
import type { RequestHead } from '#http/http2/server-session.js';
import type { ServerStream, ServerStreamHandler } from '#http/http2/server-stream.js';
import type { Bodies } from '#http/server/bodies.js';
import type { Connection } from '#http/server/connections.js';
import {
  brokenOff,
  clientGone,
  type Exchange,
  type ExchangeListener,
  type StreamedBody,
} from '#http/server/exchange.js';
import { ServerRequest, type ServerShares } from '#http/server/server-request.js';

export interface Http2ExchangeOptions {
  readonly connection: Connection;
  readonly heads: ResponseHeads;
  readonly shares: ServerShares;
  readonly bodies: Bodies;
  readonly maxBodyBytes: number;
}

const nothing = Buffer.alloc(0);
const goOn = encodeField(':status', '100');
const colon = ':'.charCodeAt(0);
/** Headers that may occur once; the first counts, as in Node.js. */
const single: ReadonlySet<string> = new Set(
  (
    'age authorization content-encoding content-language content-length content-location content-range content-type date ' +
    'etag expires from host if-modified-since if-unmodified-since if-range last-modified max-forwards ' +
    'proxy-authorization range referer user-agent'
  ).split(' '),
);

export class Http2Exchange implements Exchange, ServerStreamHandler {
  readonly request: ServerRequest;
  readonly gone = new LazyAbort();
  listener: ExchangeListener | undefined;
  readonly needsLength = false;
  headersSent = false;
  destroyed = false;
  readonly #options: Http2ExchangeOptions;
  readonly #stream: ServerStream;
  #body: RequestBody | undefined;
  /** The stream has ended. */
  #closed = false;

  constructor(stream: ServerStream, { target, fields }: RequestHead, options: Http2ExchangeOptions) {
    this.#stream = stream;
    this.#options = options;
    const { connection } = options;
    connection.open += 1;
    connection.served += 1;
    const { method, path: url = '' } = target;
    const hasBody = !stream.inputEnded && ((method !== 'GET' && method !== 'HEAD') || stream.form.length !== undefined);
    if (!stream.inputEnded) this.#body = new RequestBody(stream);
    this.request = new ServerRequest({
      method,
      url,
      headers: headersOf(fields),
      rawHeaders: fields,
      peer: connection.peer,
      gone: this.gone,
      shares: options.shares,
      readBody: hasBody ? () => this.#readBody() : undefined,
      openBody: hasBody ? () => this.#openBody() : undefined,
    });
  }

  head(status: number, headers: Readonly<Record<string, string>>, cookies?: readonly string[]): void {
    const block = this.#options.heads.of(status, headers, cookies);
    this.headersSent = true;
    this.#stream.head(block);
  }

  flush(): void {
    // The head leaves at the end of the turn.
  }

  write(bytes: Buffer, left?: () => void): boolean {
    return this.#stream.write(bytes, left);
  }

  end(bytes: Buffer = nothing, left?: () => void): void {
    this.#stream.end(bytes, left);
  }

  destroy(): void {
    this.#stream.reset(resetCode.INTERNAL_ERROR);
    this.#over(true);
  }

  data(chunk: Buffer): void {
    this.#body?.add(chunk);
  }

  ended(): void {
    this.#body?.end(false);
  }

  drained(): void {
    this.listener?.drained();
  }

  closed(failure: StreamFailure | undefined): void {
    this.#over(failure !== undefined);
  }

  #over(broken: boolean): void {
    // A response may break off after it was sent.
    if (this.#closed) return;
    this.#closed = true;
    this.#options.connection.open -= 1;
    this.request.release();
    if (broken) {
      this.destroyed = true;
      this.gone.abort(clientGone);
      this.listener?.closed();
    }
    this.#body?.end(true);
  }

  async #readBody(): Promise<Buffer> {
    const { maxBodyBytes, bodies } = this.#options;
    if ((this.#stream.form.length ?? 0) <= maxBodyBytes) this.#goOn();
    const body = this.#opened();
    // A larger body stays with the client: its window is not extended.
    return bodies.read(body, this.request, body.leave);
  }

  #openBody(): StreamedBody {
    this.#goOn();
    return this.#opened();
  }

  #opened(): StreamedBody {
    this.#body ??= new RequestBody(this.#stream);
    return this.#body.open();
  }

  /** Sends 100 Continue to a client that waits for it. */
  #goOn(): void {
    if (this.request.headers['expect'] !== undefined) this.#stream.head(goOn);
  }
}

/** A request's body, with back-pressure through the stream's window. */
class RequestBody {
  readonly #stream: ServerStream;
  #parts: Buffer[] = [];
  #ended = false;
  #broken = false;
  #refused = false;
  #source: Readable | undefined;
  /** The source accepts data. */
  #hasRoom = false;

  constructor(stream: ServerStream) {
    this.#stream = stream;
  }

  /** Called by the stream: a part arrived. */
  add(chunk: Buffer): void {
    if (this.#refused) return;
    this.#parts.push(chunk);
    this.#pass();
  }

  /** Called by the stream: no more data follows; `broken`: before the end. */
  end(broken: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#broken = broken;
    this.#pass();
  }

  /** The body as a stream; call once. */
  open(): StreamedBody {
    const source = new Readable({
      read: () => {
        this.#hasRoom = true;
        this.#pass();
      },
    });
    this.#source = source;
    const leave = () => {
      this.#refused = true;
      this.#parts = [];
      source.destroy();
    };
    return { source, length: this.#stream.form.length, leave };
  }

  /** Passes parts to the source while it accepts them. */
  #pass(): void {
    const source = this.#source;
    if (source === undefined || source.destroyed) return;
    while (this.#hasRoom) {
      const part = this.#parts.shift();
      if (part === undefined) break;
      this.#stream.took(part.length);
      this.#hasRoom = source.push(part);
    }
    if (this.#broken) source.destroy(brokenOff());
    else if (this.#ended && this.#parts.length === 0) source.push(null);
  }
}

/** Joins repeated fields, except those that occur once. Skips pseudo-header fields. */
function headersOf(fields: readonly HeaderField[]): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of fields) {
    if (name.charCodeAt(0) === colon) continue;
    const before = headers[name];
    // Inherited properties of objects do not count.
    if (typeof before !== 'string') headers[name] = value;
    else if (!single.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
  }
  return headers;
}
