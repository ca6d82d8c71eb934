/** Sends requests by function call, for daemons in the API server's process. */

import { unlessAborted } from '#apimachinery/async/abort.js';
import type { Transport, TransportRequest, TransportResponse } from '#client/rest/transport.js';
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

export class InProcessTransport implements Transport {
  readonly #options: InProcessTransportOptions;
  readonly #inFlight = new Set<AbortController>();
  #closed = false;

  constructor(options: InProcessTransportOptions) {
    this.#options = options;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    if (this.#closed) throw new TransportError('Closed', `the connection to ${target} is closed`);
    if (request.signal?.aborted) throw new TransportError('Aborted', `request to ${target} aborted`);
    request.beforeSending?.();
    const controller = new AbortController();
    const abort = () => controller.abort();
    this.#inFlight.add(controller);
    request.signal?.addEventListener('abort', abort, { once: true });
    const release = () => {
      this.#inFlight.delete(controller);
      request.signal?.removeEventListener('abort', abort);
    };
    try {
      const response = await unlessAborted(
        this.#handle(request, controller.signal),
        controller.signal,
        () => new TransportError('Aborted', `request to ${target} aborted`),
      );
      if (response.body === undefined || Buffer.isBuffer(response.body)) {
        release();
        return { ...response, body: once(response.body) };
      }
      return { ...response, body: stream(response.body, controller, release) };
    } catch (error) {
      release();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const controller of this.#inFlight) controller.abort();
    return Promise.resolve();
  }

  #handle(request: TransportRequest, signal: AbortSignal): Promise<InProcessResponse> {
    const { handler, user } = this.#options;
    return handler({
      method: request.method,
      url: request.path,
      headers: request.headers,
      body: bytesOf(request.body),
      remoteAddress: '127.0.0.1',
      ...(user === undefined ? {} : { user }),
      signal,
    });
  }
}

function bytesOf(body: Buffer | string | undefined): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  return typeof body === 'string' ? Buffer.from(body) : body;
}

async function* once(body: Buffer | undefined): AsyncGenerator<Buffer> {
  if (body !== undefined) yield body;
}

/** The body as it arrives; leaving the loop early tells the server. */
async function* stream(
  body: AsyncIterable<Buffer>,
  controller: AbortController,
  release: () => void,
): AsyncGenerator<Buffer> {
  const iterator = body[Symbol.asyncIterator]();
  let ended = false;
  // One listener for the whole stream, since a watch may bring thousands of items.
  let giveUp: ((error: TransportError) => void) | undefined;
  const aborted = () => giveUp?.(new TransportError('Aborted', `request to ${target} aborted`));
  controller.signal.addEventListener('abort', aborted, { once: true });
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Buffer>>((resolve, reject) => {
        giveUp = reject;
        if (controller.signal.aborted) aborted();
        else iterator.next().then(resolve, reject);
      });
      if (next.done === true) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } finally {
    controller.signal.removeEventListener('abort', aborted);
    release();
    if (!ended) {
      controller.abort();
      // Not awaited, because the server may still be inside the abandoned `next`.
      iterator.return?.(undefined)?.catch(() => undefined);
    }
  }
}
