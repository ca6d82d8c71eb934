/** Writes responses with back-pressure, within a shared memory budget, and only while the client reads. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Turns } from '#apimachinery/async/turn-queue.js';
import { BufferPool, type PooledSize } from '#apimachinery/collections/buffer-pool.js';
import { type LongBody, PartsBody, SeparatedParts, SourceBody } from '#http/server/body.js';
import type { ByteBudget } from '#http/server/byte-budget.js';
import type { Exchange, HttpResponse } from '#http/server/exchange.js';
import { Pieces, Sending, type SendingOptions } from '#http/server/sending.js';

export interface ResponseWriterOptions extends SendingOptions {
  readonly turns: Turns;
  readonly budget: ByteBudget;
}

/** Detects a disconnected client; the signal is created only if something waits for it. */
export interface Gone {
  readonly signal: AbortSignal;
}

/** Large pieces cost less per byte: the kernel wakes the client for each piece. */
const largePieces: PooledSize = { bytes: 512 * 1024, maxSpare: 4 };
/** For slow clients, of which there may be many. */
const smallPieces: PooledSize = { bytes: 128 * 1024, maxSpare: 16 };
/** Pieces that a response holds: two, one encrypted, and what waits in the socket. */
const heldPieces = 4;
/** Smaller complete responses are not budgeted; there are only as many as running requests. */
const freeBytes = 32 * 1024;

export class ResponseWriter {
  readonly #options: ResponseWriterOptions;
  readonly #buffers = new BufferPool([smallPieces, largePieces]);

  constructor(options: ResponseWriterOptions) {
    this.#options = options;
  }

  /** See the options. */
  get stallMs(): number {
    return this.#options.stallMs;
  }

  /**
   * Resolves, or returns, when the response was handed over. Throws 429 before writing if the budget is used up, and
   * ConnectionLostError if the client disconnects or stops reading; the body is stopped then.
   */
  write(exchange: Exchange, response: HttpResponse, headOnly: boolean, gone: Gone): MaybePromise<void> {
    const { status, headers, cookies, body } = response;
    if (headOnly || body === undefined) {
      const length = body?.length;
      if (length !== undefined) headers['content-length'] = String(length);
      exchange.head(status, headers, cookies);
      exchange.end();
      return;
    }
    if (body instanceof PartsBody) return this.#parts(exchange, response, body, gone);
    if (body instanceof SourceBody) {
      return body.held === undefined
        ? this.#unlimited(exchange, response, body)
        : this.#limited(exchange, response, body, gone);
    }
    headers['content-length'] = String(body.length);
    if (body.length >= freeBytes) return this.#whole(exchange, response, body, gone);
    exchange.head(status, headers, cookies);
    exchange.end(body);
  }

  async #whole(
    exchange: Exchange,
    { status, headers, cookies, budget = this.#options.budget }: HttpResponse,
    body: Buffer,
    gone: Gone,
  ): Promise<void> {
    const give = await budget.take(body.length, gone);
    const sending = new Sending(exchange, this.#options);
    try {
      exchange.head(status, headers, cookies);
      sending.limit();
      sending.give(body, true);
      await sending.left();
    } finally {
      sending.close();
      give();
    }
  }

  async #parts(exchange: Exchange, response: HttpResponse, body: PartsBody, gone: Gone): Promise<void> {
    const { turns } = this.#options;
    const { status, headers, cookies, budget = this.#options.budget } = response;
    const size = body.isLarge && budget.isAmpleFor(heldPieces * largePieces.bytes) ? largePieces : smallPieces;
    const give = await budget.take(memoryOf(body, size), gone).catch((error: unknown) => {
      body.over();
      throw error;
    });
    const sending = new Sending(exchange, this.#options);
    const buffers = [this.#buffers.take(size.bytes), this.#buffers.take(size.bytes)] as const;
    try {
      const length = body.length ?? (exchange.needsLength ? await lengthOf(body, turns) : undefined);
      if (length !== undefined) headers['content-length'] = String(length);
      exchange.head(status, headers, cookies);
      sending.limit();
      await new Pieces({ sending, body, buffers, turns }).send();
      // Only after success: the socket may still read the buffers of a broken response.
      for (const buffer of buffers) this.#buffers.give(buffer);
    } finally {
      sending.close();
      body.over();
      give();
    }
  }

  /** A source whose end depends on this server only. */
  async #limited(exchange: Exchange, response: HttpResponse, body: SourceBody, gone: Gone): Promise<void> {
    const { status, headers, cookies, budget = this.#options.budget } = response;
    let give: (() => void) | undefined;
    try {
      give = await budget.take(memoryOf(body, smallPieces), gone);
      if (body.length !== undefined) headers['content-length'] = String(body.length);
      exchange.head(status, headers, cookies);
      exchange.flush();
      const sending = new Sending(exchange, this.#options);
      sending.limit();
      await sending.pass(body);
    } finally {
      body.stop();
      body.over();
      give?.();
    }
  }

  /** A source without such an end. */
  #unlimited(exchange: Exchange, { status, headers, cookies }: HttpResponse, body: SourceBody): Promise<void> {
    try {
      exchange.head(status, headers, cookies);
      // Clients of a watch wait for headers before the first event, and those of a proxy perhaps for the whole
      // response.
      exchange.flush();
    } catch (error) {
      body.stop();
      body.over();
      throw error;
    }
    return new Sending(exchange, this.#options).pass(body);
  }
}

/** Memory for sending the body in pieces of this size. */
function memoryOf({ held = 0, length = Number.POSITIVE_INFINITY }: LongBody, { bytes }: PooledSize): number {
  return held + Math.min(heldPieces * bytes, length);
}

/** Undefined if the length is unknown before the body is produced. */
async function lengthOf({ parts }: PartsBody, turns: Turns): Promise<number | undefined> {
  return parts instanceof SeparatedParts ? parts.lengthUpTo(Number.POSITIVE_INFINITY, turns) : undefined;
}
