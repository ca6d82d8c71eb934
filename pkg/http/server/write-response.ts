/**
 * Writes responses to those who take them, with back-pressure, within a budget of memory that all share, and only as long as the
 * client takes what it is sent.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import { BufferPool, type PooledSize } from '#apimachinery/collections/buffer-pool.js';
import type { AnswerTarget } from '#http/server/answer-target.js';
import type { ByteBudget } from '#http/server/byte-budget.js';
import type { HttpResponse } from '#http/server/exchange.js';
import { Flight } from '#http/server/flight.js';
import { PartsBody, SeparatedParts } from '#http/server/parts-body.js';
import { Pieces } from '#http/server/pieces.js';
import { passOn } from '#http/server/pushed-answer.js';
import { PushedBody } from '#http/server/pushed-body.js';

type Body = HttpResponse['body'];

/** Bytes of the body, or undefined where only writing it tells. */
export function knownLength(body: Body): number | undefined {
  if (body === undefined) return 0;
  return Buffer.isBuffer(body) || body instanceof PartsBody ? body.length : undefined;
}

/** The same body; `made` is told how many bytes there were once they have all been asked for, or the client wants no more. */
export function counted(body: AsyncIterable<Buffer>, made: (bytes: number) => void): AsyncIterable<Buffer> {
  if (!(body instanceof PartsBody)) return new CountedIterable(body, made);
  const { parts } = body;
  if (parts instanceof SeparatedParts) return body.with(new SeparatedParts({ ...parts.options, made }));
  return body.with(Symbol.iterator in parts ? countedParts(parts, made) : new CountedIterable(parts, made));
}

function* countedParts(parts: Iterable<Buffer>, made: (bytes: number) => void): Generator<Buffer, void, void> {
  let bytes = 0;
  try {
    for (const part of parts) {
      bytes += part.length;
      yield part;
    }
  } finally {
    made(bytes);
  }
}

/** No generator: that would pass a `return` on only when what it waits for has come. */
class CountedIterable implements AsyncIterable<Buffer> {
  readonly #source: AsyncIterable<Buffer>;
  readonly #made: (bytes: number) => void;

  constructor(source: AsyncIterable<Buffer>, made: (bytes: number) => void) {
    this.#source = source;
    this.#made = made;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    const source = this.#source[Symbol.asyncIterator]();
    let bytes = 0;
    let over = false;
    const end = () => {
      if (!over) this.#made(bytes);
      over = true;
    };
    return {
      async next() {
        const item = await source.next();
        if (item.done === true) end();
        else bytes += item.value.length;
        return item;
      },
      async return() {
        end();
        await source.return?.();
        return { done: true, value: undefined };
      },
    };
  }
}

export interface ResponseWriterOptions {
  readonly clock: Clock;
  readonly turns: TurnQueue;
  readonly budget: ByteBudget;
  /** A client that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** Longest time for a body that has an end. */
  readonly limitMs: number;
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
   * Resolves, or returns, when the answer has been handed over. Throws 429 before anything is written when the budget is used up, and a ConnectionLostError when the client goes away
   * or stops reading before the end; the source is told by ending its iteration.
   */
  write(target: AnswerTarget, response: HttpResponse, headOnly: boolean, gone: Gone): MaybePromise<void> {
    const { status, headers, cookies, body } = response;
    if (headOnly || body === undefined) {
      const length = body && knownLength(body);
      if (length !== undefined) headers['content-length'] = String(length);
      target.head(status, headers, cookies);
      target.end();
      return;
    }
    if (Buffer.isBuffer(body)) {
      headers['content-length'] = String(body.length);
      if (body.length >= freeBytes) return this.#whole(target, response, body, gone);
      target.head(status, headers, cookies);
      target.end(body);
      return;
    }
    if (body instanceof PartsBody) return this.#parts(target, response, body, gone);
    if (body instanceof PushedBody) return this.#pushed(target, response, body);
    return this.#stream(target, response, body);
  }

  async #whole(
    target: AnswerTarget,
    { status, headers, cookies }: HttpResponse,
    body: Buffer,
    gone: Gone,
  ): Promise<void> {
    const give = await this.#options.budget.take(body.length, gone);
    const flight = new Flight(target, this.#options);
    try {
      target.head(status, headers, cookies);
      flight.limit();
      flight.end((left) => target.end(body, left));
      await flight.landed();
    } finally {
      flight.close();
      give();
    }
  }

  async #parts(
    target: AnswerTarget,
    { status, headers, cookies }: HttpResponse,
    body: PartsBody,
    gone: Gone,
  ): Promise<void> {
    const { budget, turns } = this.#options;
    const size = body.isLarge && budget.isAmpleFor(heldPieces * largePieces.bytes) ? largePieces : smallPieces;
    const cost = heldPieces * size.bytes;
    const give = await budget.take(body.held + Math.min(cost, body.length ?? cost), gone);
    const flight = new Flight(target, this.#options);
    const buffers = [this.#buffers.take(size.bytes), this.#buffers.take(size.bytes)] as const;
    try {
      const length = body.length ?? (target.needsLength ? await lengthOf(body, turns) : undefined);
      if (length !== undefined) headers['content-length'] = String(length);
      target.head(status, headers, cookies);
      flight.limit();
      const pieces = new Pieces({ target, flight, buffers, turns });
      if (body.parts instanceof SeparatedParts) await pieces.addAll(body.parts);
      else if (Symbol.iterator in body.parts) {
        for (const part of body.parts) {
          const wait = pieces.add(part) ?? turns.pause();
          if (wait !== undefined) await wait;
        }
      } else for await (const part of body.parts) await pieces.add(part);
      await pieces.end();
      // A buffer of an answer that broke off may still be read by the socket, so only these come back.
      for (const buffer of buffers) this.#buffers.give(buffer);
    } finally {
      flight.close();
      give();
    }
  }

  #pushed(target: AnswerTarget, { status, headers, cookies }: HttpResponse, body: PushedBody): Promise<void> {
    try {
      target.head(status, headers, cookies);
      // Clients of a watch wait for the headers before the first event.
      target.flush();
    } catch (error) {
      body.stop();
      throw error;
    }
    return passOn(target, body, this.#options);
  }

  async #stream(
    target: AnswerTarget,
    { status, headers, cookies }: HttpResponse,
    body: AsyncIterable<Buffer>,
  ): Promise<void> {
    target.head(status, headers, cookies);
    // Whoever is behind the answer may be waited for.
    target.flush();
    const source = body[Symbol.asyncIterator]();
    // Ends a source that is waiting for something to send.
    const flight = new Flight(target, this.#options, () => void source.return?.());
    try {
      for (;;) {
        const next = await source.next();
        flight.check();
        if (next.done === true) break;
        if (!flight.push(next.value)) await flight.landed();
      }
      target.end();
    } finally {
      flight.close();
      await source.return?.();
    }
  }
}

/** Undefined where only making all of it would tell. */
async function lengthOf({ parts }: PartsBody, turns: TurnQueue): Promise<number | undefined> {
  return parts instanceof SeparatedParts ? parts.lengthUpTo(Number.POSITIVE_INFINITY, turns) : undefined;
}
