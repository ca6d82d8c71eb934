/** Sends requests by function call, for daemons in the API server's process. */

import { type Cancellation, LazyAbort } from '#apimachinery/cancellation.js';
import { type Transport, type TransportRequest, type TransportResponse, WholeBody } from '#client/rest/transport.js';
import { TransportError } from '#http/client/transport-error.js';

/** The user that the handler sees. */
export interface InProcessUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface InProcessRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly remoteAddress: string;
  readonly user?: InProcessUser;
  readonly signal: AbortSignal;
  /** Same as `signal` without creating one. */
  readonly cancellation?: Cancellation;
  /** Aborts `signal` for another reason, such as a timeout. */
  cancel?(reason: unknown): void;
}

export interface InProcessResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | AsyncIterable<Buffer> | undefined;
}

/** The server as a function; matches the API server's handler without importing it. */
export type InProcessHandler = (request: InProcessRequest) => Promise<InProcessResponse>;

export interface InProcessTransportOptions {
  readonly handler: InProcessHandler;
  /** Absent: the handler authenticates requests by their headers. */
  readonly user?: InProcessUser;
}

const target = 'the API server in this process';
const noBytes = Buffer.alloc(0);

/** A call of the handler. Handler and client may both abort it, but only the client stops waiting for the response then. */
class Call {
  readonly controller = new LazyAbort();
  #left: ((error: TransportError) => void) | undefined;

  /** Called by the client, or on its behalf. */
  leave(reason: unknown, message: string): void {
    const error = new TransportError('Aborted', message);
    this.controller.abort(reason ?? error);
    this.#left?.(error);
  }

  unlessLeft<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#left = reject;
      promise.then(resolve, reject);
    });
  }
}

export class InProcessTransport implements Transport {
  readonly #options: InProcessTransportOptions;
  readonly #inFlight = new Set<Call>();
  #closed = false;

  constructor(options: InProcessTransportOptions) {
    this.#options = options;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    if (this.#closed) throw new TransportError('Closed', `the connection to ${target} is closed`);
    if (request.signal?.aborted) throw new TransportError('Aborted', `request to ${target} aborted`);
    request.beforeSending?.();
    const call = new Call();
    const abort = () => call.leave(request.signal?.reason, `request to ${target} aborted`);
    this.#inFlight.add(call);
    request.signal?.addEventListener('abort', abort, { once: true });
    const release = () => {
      this.#inFlight.delete(call);
      request.signal?.removeEventListener('abort', abort);
    };
    try {
      const response = await call.unlessLeft(this.#handle(request, call.controller));
      if (response.body === undefined || Buffer.isBuffer(response.body)) {
        release();
        return { ...response, body: new WholeBody(response.body ?? noBytes) };
      }
      return { ...response, body: stream(response.body, call.controller, release) };
    } catch (error) {
      release();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const call of this.#inFlight) call.leave(undefined, `request to ${target} aborted`);
    return Promise.resolve();
  }

  #handle(request: TransportRequest, abort: LazyAbort): Promise<InProcessResponse> {
    const { handler, user } = this.#options;
    return handler({
      method: request.method,
      url: request.path,
      headers: request.headers,
      body: bytesOf(request.body),
      remoteAddress: '127.0.0.1',
      ...(user === undefined ? {} : { user }),
      get signal() {
        return abort.signal;
      },
      cancellation: abort,
      cancel: (reason) => abort.abort(reason),
    });
  }
}

function bytesOf(body: Buffer | string | undefined): Buffer {
  if (body === undefined) return noBytes;
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/** The body as it arrives; leaving the loop early tells the server. */
async function* stream(
  body: AsyncIterable<Buffer>,
  controller: LazyAbort,
  release: () => void,
): AsyncGenerator<Buffer> {
  const iterator = body[Symbol.asyncIterator]();
  let ended = false;
  // One listener for the whole stream, since a watch may bring thousands of items.
  let giveUp: ((error: TransportError) => void) | undefined;
  const aborted = () => giveUp?.(new TransportError('Aborted', `request to ${target} aborted`));
  controller.addEventListener('abort', aborted);
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Buffer>>((resolve, reject) => {
        giveUp = reject;
        if (controller.aborted) aborted();
        else iterator.next().then(resolve, reject);
      });
      if (next.done === true) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } finally {
    controller.removeEventListener('abort', aborted);
    release();
    if (!ended) {
      controller.abort(new TransportError('Aborted', `the response of ${target} is not read any more`));
      // Not awaited, because the server may still be inside the abandoned `next`.
      iterator.return?.(undefined)?.catch(() => undefined);
    }
  }
}
