/** A request over HTTP/2 and its response. */
import { Readable } from 'node:stream';
import { abortError, type ExchangeRequest, type ExchangeResponse, UnsentError } from '#http/client/connections.js';
import type { Http2Session, Http2Stream, StreamFailure, StreamHandler } from '#http/http2/client-session.js';
import { resetCode } from '#http/http2/frames.js';
import type { HeaderField } from '#http/http2/hpack.js';

export interface Http2ExchangeOptions {
  readonly session: Http2Session;
  /** Encoded header block. */
  readonly head: Buffer;
  /** Called once, when the stream is no longer needed. */
  readonly over: () => void;
  readonly resolve: (response: ExchangeResponse) => void;
  readonly reject: (error: Error) => void;
}

const nothing = Buffer.alloc(0);

export class Http2Exchange implements StreamHandler {
  readonly #options: Http2ExchangeOptions;
  readonly #signal: AbortSignal;
  readonly #stream: Http2Stream;
  #body: AnswerBody | undefined;
  #over = false;
  #complete = false;

  constructor({ body, signal }: ExchangeRequest, options: Http2ExchangeOptions) {
    this.#options = options;
    this.#signal = signal;
    const bytes = typeof body === 'string' ? Buffer.from(body) : (body ?? nothing);
    this.#stream = options.session.open(options.head, bytes, true, this);
    signal.addEventListener('abort', this, { once: true });
    if (signal.aborted) this.handleEvent();
  }

  headers(fields: readonly HeaderField[]): void {
    const [[, status = ''] = []] = fields;
    // Trailers, or an informational response.
    if (this.#body !== undefined || status.startsWith('1')) return;
    const body = new AnswerBody((bytes) => this.#stream.took(bytes));
    this.#body = body;
    this.#options.resolve({
      status: Number(status),
      headers: joined(fields),
      body,
      isComplete: () => this.#complete,
      cancel: () => this.#giveUp(),
    });
  }

  data(chunk: Buffer): void {
    this.#body?.add(chunk);
  }

  ended(failure: StreamFailure | undefined): void {
    this.#leave();
    this.#complete = failure === undefined;
    if (failure === undefined && this.#body !== undefined) this.#body.push(null);
    else this.#fail(explained(failure, this.#body === undefined));
  }

  /** The caller aborted the request. */
  handleEvent(): void {
    if (this.#over) return;
    this.#giveUp();
    this.#fail(abortError());
  }

  #giveUp(): void {
    if (this.#over) return;
    this.#stream.reset(resetCode.CANCEL);
    this.#leave();
  }

  #fail(error: Error): void {
    if (this.#body === undefined) this.#options.reject(error);
    else this.#body.destroy(error);
  }

  #leave(): void {
    this.#over = true;
    this.#signal.removeEventListener('abort', this);
    this.#options.over();
  }
}

/** A response body that applies back-pressure through the stream's window. */
class AnswerBody extends Readable {
  readonly #took: (bytes: number) => void;
  #held = 0;

  constructor(took: (bytes: number) => void) {
    super();
    this.#took = took;
    // The reader gets the error; a later one has no listener.
    this.on('error', () => undefined);
  }

  add(chunk: Buffer): void {
    this.#held += chunk.length;
    if (this.push(chunk)) this.#release();
  }

  override _read(): void {
    this.#release();
  }

  #release(): void {
    const bytes = this.#held;
    this.#held = 0;
    if (bytes > 0) this.#took(bytes);
  }
}

function joined(fields: readonly HeaderField[]): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of fields) {
    if (name.startsWith(':')) continue;
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return headers;
}

/** `unanswered`: only then may the request be sent again. */
function explained(failure: StreamFailure | undefined, unanswered: boolean): Error {
  const { cause, code, sent } = failure ?? {};
  if (sent === false && unanswered) return new UnsentError('the server did not take the request', { cause });
  if (cause instanceof Error) return cause;
  const how =
    code === undefined ? 'the connection closed before the response' : `the server reset the stream (${code})`;
  return Object.assign(new Error(how), { code: 'ECONNRESET' });
}
