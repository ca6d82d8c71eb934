/** One request over HTTP/2, and where its answer goes. */

import { LazyAbort } from '#apimachinery/cancellation.js';
import { badRequest, requestEntityTooLarge } from '#apimachinery/errors/status.js';
import { resetCode } from '#http/http2/frames.js';
import { encodeField, type HeaderField } from '#http/http2/hpack.js';
import type { ResponseHeads } from '#http/http2/response-heads.js';
import type { RequestHead } from '#http/http2/server-session.js';
import type { ServerStream, ServerStreamHandler } from '#http/http2/server-stream.js';
import type { StreamFailure } from '#http/http2/stream.js';
import type { AnswerListener, AnswerTarget, Piece } from '#http/server/answer-target.js';
import type { Connection } from '#http/server/connections.js';
import type { StreamedBody } from '#http/server/exchange.js';
import { Http2Body } from '#http/server/http2-body.js';
import { FramedPiece } from '#http/server/piece.js';
import { BodyTooLargeError } from '#http/server/request-body.js';
import { clientGone, type ServedExchange } from '#http/server/request-server.js';
import { ServerRequest } from '#http/server/server-request.js';

export interface Http2ExchangeOptions {
  readonly connection: Connection;
  readonly heads: ResponseHeads;
  readonly maxBodyBytes: number;
}

const nothing = Buffer.alloc(0);
const goOn = encodeField(':status', '100');
const colon = ':'.charCodeAt(0);
/** Headers of which there can be one: of more, the first is meant, as by Node.js. */
const single: ReadonlySet<string> = new Set(
  (
    'age authorization content-encoding content-language content-length content-location content-range content-type date ' +
    'etag expires from host if-modified-since if-unmodified-since if-range last-modified max-forwards ' +
    'proxy-authorization range referer user-agent'
  ).split(' '),
);

export class Http2Exchange implements ServedExchange, AnswerTarget, ServerStreamHandler {
  readonly request: ServerRequest;
  readonly gone = new LazyAbort();
  listener: AnswerListener | undefined;
  readonly needsLength = false;
  headersSent = false;
  destroyed = false;
  readonly #options: Http2ExchangeOptions;
  readonly #stream: ServerStream;
  #body: Http2Body | undefined;
  /** The stream is over. */
  #closed = false;

  constructor(stream: ServerStream, { target, fields }: RequestHead, options: Http2ExchangeOptions) {
    this.#stream = stream;
    this.#options = options;
    const { connection } = options;
    connection.open += 1;
    connection.served += 1;
    const { method, path: url = '' } = target;
    const hasBody = !stream.inputEnded && ((method !== 'GET' && method !== 'HEAD') || stream.form.length !== undefined);
    if (!stream.inputEnded) this.#body = new Http2Body(stream);
    this.request = new ServerRequest({
      method,
      url,
      headers: headersOf(fields),
      rawHeaders: fields,
      peer: connection.peer,
      gone: this.gone,
      readBody: hasBody ? () => this.#readBody() : undefined,
      openBody: hasBody ? () => this.#openBody() : undefined,
    });
  }

  get target(): AnswerTarget {
    return this;
  }

  head(status: number, headers: Readonly<Record<string, string>>, cookies?: readonly string[]): void {
    const block = this.#options.heads.of(status, headers, cookies);
    this.headersSent = true;
    this.#stream.head(block);
  }

  flush(): void {
    // It leaves at the end of the turn.
  }

  write(bytes: Buffer, left?: () => void): boolean {
    return this.#stream.write(bytes, left);
  }

  piece(buffer: Buffer): Piece {
    return new FramedPiece(buffer, this.#stream);
  }

  end(bytes: Buffer = nothing, left?: () => void): void {
    this.#stream.end(bytes, left);
  }

  destroy(): void {
    this.#stream.reset(resetCode.INTERNAL_ERROR);
    this.#over(true);
  }

  /** For the stream. */
  data(chunk: Buffer): void {
    this.#body?.add(chunk);
  }

  /** For the stream. */
  ended(): void {
    this.#body?.end(false);
  }

  /** For the stream. */
  drained(): void {
    this.listener?.drained();
  }

  /** For the stream. */
  closed(failure: StreamFailure | undefined): void {
    this.#over(failure !== undefined);
  }

  #over(broken: boolean): void {
    // An answer may be broken off that has been sent.
    if (this.#closed) return;
    this.#closed = true;
    this.#options.connection.open -= 1;
    if (broken) {
      this.destroyed = true;
      this.gone.abort(clientGone);
      this.listener?.closed();
    }
    this.#body?.end(true);
  }

  /** The body as the pipeline asks for it; what went wrong on the way is the client's doing. */
  async #readBody(): Promise<Buffer> {
    const { maxBodyBytes } = this.#options;
    if ((this.#stream.form.length ?? 0) <= maxBodyBytes) this.#goOn();
    try {
      return (await this.#body?.read(maxBodyBytes)) ?? nothing;
    } catch (error) {
      if (error instanceof BodyTooLargeError) throw requestEntityTooLarge(`limit is ${maxBodyBytes}`);
      throw badRequest(String(error), error);
    }
  }

  #openBody(): StreamedBody {
    this.#goOn();
    this.#body ??= new Http2Body(this.#stream);
    return this.#body.open();
  }

  /** To a client that waits to be told to send its body. */
  #goOn(): void {
    if (this.request.headers['expect'] !== undefined) this.#stream.head(goOn);
  }
}

/** What is repeated is joined, but for what there can be only one of. Names that start with a colon are HTTP/2's own. */
function headersOf(fields: readonly HeaderField[]): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of fields) {
    if (name.charCodeAt(0) === colon) continue;
    const before = headers[name];
    // Not what every object has.
    if (typeof before !== 'string') headers[name] = value;
    else if (!single.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
  }
  return headers;
}
