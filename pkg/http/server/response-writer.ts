/**
 * Writes responses to their exchanges, with back-pressure, within a budget of memory that all share, and only as long as the
 * client takes what it is sent.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { BufferPool, type PooledSize } from '#apimachinery/collections/buffer-pool.js';
import { type LongBody, PartsBody, SeparatedParts, SourceBody } from '#http/server/body.js';
import type { ByteBudget } from '#http/server/byte-budget.js';
import type { Exchange, HttpResponse } from '#http/server/exchange.js';
import { Pieces, Sending, type SendingOptions } from '#http/server/sending.js';

export interface ResponseWriterOptions extends SendingOptions {
  readonly turns: TurnQueue;
  readonly budget: ByteBudget;
}

/** Tells when the client goes away; the signal is asked for only where there is something to wait for. */
export interface Gone {
  readonly signal: AbortSignal;
}

/** Pieces of which a write costs little: the kernel wakes the client for each. */
const largePieces: PooledSize = { bytes: 512 * 1024, maxSpare: 4 };
/** What slow clients get, of whom there may be many. */
const smallPieces: PooledSize = { bytes: 128 * 1024, maxSpare: 16 };
/** What one answer holds: two pieces, the encrypted form of one and what waits in the socket. */
const heldPieces = 4;
/** Whole answers below this size count for nothing: there are as few of them as requests under way. */
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
   * Resolves, or returns, when the answer has been handed over. Throws 429 before anything is written when the budget is used
   * up, and a ConnectionLostError when the client goes away or stops reading before the end; the body is told to stop.
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
    { status, headers, cookies }: HttpResponse,
    body: Buffer,
    gone: Gone,
  ): Promise<void> {
    const give = await this.#options.budget.take(body.length, gone);
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
    const { budget, turns } = this.#options;
    const { status, headers, cookies } = response;
    const size = body.isLarge && budget.isAmpleFor(heldPieces * largePieces.bytes) ? largePieces : smallPieces;
    const give = await budget.take(memoryOf(body, size), gone);
    const sending = new Sending(exchange, this.#options);
    const buffers = [this.#buffers.take(size.bytes), this.#buffers.take(size.bytes)] as const;
    try {
      const length = body.length ?? (exchange.needsLength ? await lengthOf(body, turns) : undefined);
      if (length !== undefined) headers['content-length'] = String(length);
      exchange.head(status, headers, cookies);
      sending.limit();
      await new Pieces({ sending, body, buffers, turns }).send();
      // A buffer of an answer that broke off may still be read by the socket, so only these come back.
      for (const buffer of buffers) this.#buffers.give(buffer);
    } finally {
      sending.close();
      body.over();
      give();
    }
  }

  /** Pieces that come as they are made, with an end that depends on this server alone. */
  async #limited(exchange: Exchange, response: HttpResponse, body: SourceBody, gone: Gone): Promise<void> {
    const { status, headers, cookies } = response;
    let give: (() => void) | undefined;
    try {
      give = await this.#options.budget.take(memoryOf(body, smallPieces), gone);
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

  /** The same without such an end. */
  #unlimited(exchange: Exchange, { status, headers, cookies }: HttpResponse, body: SourceBody): Promise<void> {
    try {
      exchange.head(status, headers, cookies);
      // Clients of a watch wait for the headers before the first event, and those of a proxy maybe for the whole answer.
      exchange.flush();
    } catch (error) {
      body.stop();
      body.over();
      throw error;
    }
    return new Sending(exchange, this.#options).pass(body);
  }
}

/** What sending it holds, in pieces of that size. */
function memoryOf({ held = 0, length = Number.POSITIVE_INFINITY }: LongBody, { bytes }: PooledSize): number {
  return held + Math.min(heldPieces * bytes, length);
}

/** Undefined where only making all of it would tell. */
async function lengthOf({ parts }: PartsBody, turns: TurnQueue): Promise<number | undefined> {
  return parts instanceof SeparatedParts ? parts.lengthUpTo(Number.POSITIVE_INFINITY, turns) : undefined;
}
