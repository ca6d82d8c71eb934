/**
 * Writes responses to those who take them, with back-pressure, within a budget of memory that all share, and only as long as the
 * client takes what it is sent.
 */
import type { MaybePromise } from '#apimachinery/async/maybe-promise.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import { BufferPool, type PooledSize } from '#apimachinery/collections/buffer-pool.js';
import { copyMemory } from '#apimachinery/copy-memory.js';
import type { AnswerListener, AnswerTarget } from '#apiserver/http/answer-target.js';
import type { ByteBudget } from '#apiserver/http/byte-budget.js';
import { ConnectionLostError } from '#apiserver/http/connection-lost.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { PartsBody, SeparatedParts } from '#apiserver/http/parts-body.js';
import { Patience } from '#apiserver/http/patience.js';
import { passOn } from '#apiserver/http/pushed-answer.js';
import { PushedBody } from '#apiserver/http/pushed-body.js';
import { type Bytes, isWhole, joined } from '#storage/segments/segmented.js';

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
/** Answers from here on come in large pieces while there is room. */
const largeAnswer = 2 * largePieces.bytes;
/** What one answer holds: two pieces, the frames of one, their encrypted form and what waits in the socket. */
const heldPieces = 5;
/** Parts from here on are written as they are instead of being copied. */
const directBytes = 64 * 1024;
/** Parts up to here are copied byte by byte, which is faster for so few. */
const tinyBytes = 4;
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
  write(target: AnswerTarget, response: ApiResponse, headOnly: boolean, gone: Gone): MaybePromise<void> {
    const { status, headers, cookies, body } = response;
    if (headOnly || body === undefined) {
      const length = bodyLength(body);
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
    { status, headers, cookies }: ApiResponse,
    body: Buffer,
    gone: Gone,
  ): Promise<void> {
    const give = await this.#options.budget.take(body.length, gone);
    const flight = new Flight(target, this.#options);
    try {
      target.head(status, headers, cookies);
      flight.limit();
      flight.end(body);
      await flight.landed();
    } finally {
      flight.close();
      give();
    }
  }

  async #parts(
    target: AnswerTarget,
    { status, headers, cookies }: ApiResponse,
    body: PartsBody,
    gone: Gone,
  ): Promise<void> {
    const { budget, turns } = this.#options;
    const { length = 0 } = body;
    const isLarge = length >= largeAnswer && budget.isAmpleFor(heldPieces * largePieces.bytes);
    const size = isLarge ? largePieces : smallPieces;
    const cost = heldPieces * size.bytes;
    const give = await budget.take(body.held + Math.min(cost, body.length ?? cost), gone);
    const flight = new Flight(target, this.#options);
    const buffers = [this.#buffers.take(size.bytes), this.#buffers.take(size.bytes)] as const;
    try {
      if (body.length !== undefined) headers['content-length'] = String(body.length);
      target.head(status, headers, cookies);
      flight.limit();
      const pieces = new Pieces({ flight, buffers, turns });
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

  #pushed(target: AnswerTarget, { status, headers, cookies }: ApiResponse, body: PushedBody): Promise<void> {
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
    { status, headers, cookies }: ApiResponse,
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

function bodyLength(body: ApiResponse['body']): number | undefined {
  return Buffer.isBuffer(body) || body instanceof PartsBody ? body.length : undefined;
}

interface PiecesOptions {
  readonly flight: Flight;
  /** Filled and sent by turns. */
  readonly buffers: readonly [Buffer, Buffer];
  readonly turns: TurnQueue;
}

/** Parts gathered into pieces: one is filled while the one before leaves. */
class Pieces {
  readonly #options: PiecesOptions;
  #turn = 0;
  #buffer: Buffer;
  #used = 0;

  constructor(options: PiecesOptions) {
    this.#options = options;
    this.#buffer = options.buffers[0];
  }

  /** A promise when the next part has to wait. */
  add(part: Bytes): Promise<void> | undefined {
    if (!isWhole(part)) {
      if (part.length > this.#buffer.length - this.#used) return this.add(joined(part));
      part.copyTo(this.#buffer, this.#used);
      this.#used += part.length;
      return undefined;
    }
    if (part.length <= tinyBytes && part.length <= this.#buffer.length - this.#used) {
      // What separates the objects of a list: as many as there are objects.
      for (let i = 0; i < part.length; i++) this.#buffer[this.#used++] = part[i] as number;
      return undefined;
    }
    if (part.length <= this.#buffer.length - this.#used) {
      copyMemory(part, this.#buffer, this.#used);
      this.#used += part.length;
      return undefined;
    }
    return part.length >= directBytes ? this.#direct(part) : this.#split(part);
  }

  /** Without an iterator in between: lists have thousands of parts. */
  async addAll({ head, items, separator, tail }: SeparatedParts): Promise<void> {
    await this.add(head);
    for (let i = 0; i < items.length; i++) {
      const between = i === 0 ? undefined : this.add(separator);
      if (between !== undefined) await between;
      const wait = this.add(items[i] as Bytes);
      if (wait !== undefined) await wait;
    }
    await this.add(tail);
  }

  /** Sends what is left and resolves when all of it has left. */
  async end(): Promise<void> {
    const { flight } = this.#options;
    if (!flight.idle) await flight.landed();
    flight.end(this.#buffer.subarray(0, this.#used));
    await flight.landed();
  }

  async #direct(part: Buffer): Promise<void> {
    if (this.#used > 0) await this.#next();
    await this.#send(part);
  }

  async #split(part: Buffer): Promise<void> {
    const room = this.#buffer.length - this.#used;
    copyMemory(part.subarray(0, room), this.#buffer, this.#used);
    this.#used += room;
    await this.#next();
    copyMemory(part.subarray(room), this.#buffer, 0);
    this.#used = part.length - room;
  }

  /** Sends the present buffer and goes on with the other one, which has left by then. */
  async #next(): Promise<void> {
    await this.#send(this.#buffer.subarray(0, this.#used));
    this.#turn ^= 1;
    this.#buffer = this.#options.buffers[this.#turn as 0 | 1];
    this.#used = 0;
  }

  async #send(bytes: Buffer): Promise<void> {
    const { flight, turns } = this.#options;
    if (!flight.idle) await flight.landed();
    flight.send(bytes);
    await turns.pause();
  }
}

/** What one answer has handed to its connection, and whether that has left. */
class Flight implements AnswerListener {
  readonly #target: AnswerTarget;
  readonly #options: ResponseWriterOptions;
  readonly #gone: (() => void) | undefined;
  #flying = false;
  /** What flies only waits for room. */
  #pushed = false;
  /** All has left: that the answer closes now is no loss. */
  #complete = false;
  /** Why the connection is of no use any more. */
  #lost: string | undefined;
  #wake: (() => void) | undefined;
  #limit: { cancel(): void } | undefined;
  readonly #patience: Patience;

  constructor(target: AnswerTarget, options: ResponseWriterOptions, gone?: () => void) {
    this.#target = target;
    this.#options = options;
    this.#gone = gone;
    const { clock, stallMs } = options;
    this.#patience = new Patience({ clock, stallMs, over: () => this.#cut('the client does not read') });
    target.listener = this;
    if (target.destroyed) this.#lost = 'connection closed';
  }

  /** Nothing is on its way. */
  get idle(): boolean {
    return !this.#flying && this.#lost === undefined;
  }

  /** From now on the answer has `limitMs`. */
  limit(): void {
    const { clock, limitMs } = this.#options;
    this.#limit = clock.setTimer(() => this.#cut('the answer took too long'), limitMs);
  }

  /** One at a time. */
  send(bytes: Buffer): void {
    this.#flying = true;
    this.#target.write(bytes, this.#landed);
  }

  /** The last one. */
  end(bytes: Buffer): void {
    this.#flying = true;
    this.#target.end(bytes, this.#ended);
  }

  /** False when it would be better to wait until it has `landed`. */
  push(bytes: Buffer): boolean {
    const room = this.#target.write(bytes);
    this.#flying = !room;
    this.#pushed = !room;
    return room;
  }

  /** Resolves when what was sent has left. Throws a ConnectionLostError. */
  async landed(): Promise<void> {
    if (this.#flying && this.#lost === undefined) await this.#waited();
    this.check();
  }

  drained(): void {
    // Of what is sent in pieces, it is the end of each that counts.
    if (this.#pushed) this.#landed();
  }

  /** Throws when the connection is lost. */
  check(): void {
    if (this.#lost !== undefined) throw new ConnectionLostError(this.#lost);
  }

  close(): void {
    this.#limit?.cancel();
    this.#patience.close();
    this.#target.listener = undefined;
  }

  closed(): void {
    if (this.#complete) return;
    this.#lost ??= 'connection closed';
    this.#wake?.();
    this.#gone?.();
  }

  async #waited(): Promise<void> {
    this.#patience.begin();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#patience.end();
  }

  readonly #landed = (): void => {
    this.#flying = false;
    if (this.#target.destroyed) this.#lost ??= 'connection closed';
    this.#wake?.();
  };

  readonly #ended = (): void => {
    this.#complete = !this.#target.destroyed;
    this.#landed();
  };

  #cut(why: string): void {
    this.#lost ??= why;
    this.#target.destroy();
    this.#wake?.();
  }
}
