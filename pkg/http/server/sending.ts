/** One answer on its way: what its exchange has been given, whether that has left, and whether its client still reads. */
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import {
  type BodyPart,
  type BodySink,
  behind,
  type PartsBody,
  SeparatedParts,
  type SourceBody,
} from '#http/server/body.js';
import type { Exchange, ExchangeListener } from '#http/server/exchange.js';

/** The connection is gone, or was cut because its client did not read. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

export interface SendingOptions {
  readonly clock: Clock;
  /** A client that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** Longest time for a body that has an end. */
  readonly limitMs: number;
}

type Failure = { readonly error: unknown };

const closed = 'connection closed';

export class Sending implements ExchangeListener, BodySink {
  readonly #exchange: Exchange;
  readonly #options: SendingOptions;
  /** What was given last has not left yet, or there is no room for more. */
  #full = false;
  /** The end of that is told by the exchange's `drained`. */
  #drains = false;
  /** All has left: that the exchange closes now is no loss. */
  #complete = false;
  /** Why the connection is of no use any more. */
  #lost: string | undefined;
  /** Called when there is room, and when the connection is lost. */
  #wake: (() => void) | undefined;
  #limit: Timer | undefined;
  /** Since when the client has taken nothing; monotonic ms. Undefined while nothing waits for it. */
  #stalledSinceMs: number | undefined;
  /** One for many waits, of which nearly all are short. */
  #stallTimer: Timer | undefined;
  #body: SourceBody | undefined;
  #settle: ((failure: Failure | undefined) => void) | undefined;

  constructor(exchange: Exchange, options: SendingOptions) {
    this.#exchange = exchange;
    this.#options = options;
    exchange.listener = this;
    if (exchange.destroyed) this.#lost = closed;
  }

  /** From now on the answer has `limitMs`. */
  limit(): void {
    const { clock, limitMs } = this.#options;
    this.#limit = clock.setTimer(() => this.#cut('the answer took too long'), limitMs);
  }

  /** To be called once, when nothing more is sent. */
  close(): void {
    this.#limit?.cancel();
    this.#stallTimer?.cancel();
    this.#exchange.listener = undefined;
  }

  /** Gives bytes to the exchange, when those before have `left`: the last ones where `ends`. Their memory is free when these have. */
  give(bytes: Buffer, ends = false): void {
    this.#full = true;
    if (ends) this.#exchange.end(bytes, () => this.#left(true));
    else this.#exchange.write(bytes, () => this.#left(false));
  }

  /** Resolves when what was given has left. Throws a ConnectionLostError. */
  async left(): Promise<void> {
    if (this.#full && this.#lost === undefined) {
      this.#beginWait();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#stalledSinceMs = undefined;
    }
    if (this.#lost !== undefined) throw new ConnectionLostError(this.#lost);
  }

  /** Passes on what the body has, as long as there is room. Resolves at its end; rejects with what broke it off. */
  pass(body: SourceBody): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#body = body;
      this.#settle = (failure) => (failure === undefined ? resolve() : reject(failure.error));
      if (this.#lost === undefined) body.start(this);
      else this.#break(this.#lost);
    });
  }

  /** For the body. */
  part(bytes: Buffer): boolean {
    if (this.#settle === undefined) return false;
    if (this.#body?.listeners !== undefined) this.#body.passed(bytes);
    if (this.#exchange.write(bytes)) return true;
    this.#full = true;
    this.#drains = true;
    this.#beginWait();
    return false;
  }

  /** For the body. */
  ended(failure?: Failure): void {
    if (this.#settle === undefined) return;
    if (failure === undefined) this.#exchange.end();
    this.#finish(failure);
  }

  /** For the exchange. */
  drained(): void {
    if (!this.#drains) return;
    this.#drains = false;
    this.#full = false;
    this.#stalledSinceMs = undefined;
    this.#body?.resume();
  }

  /** For the exchange. */
  closed(): void {
    if (!this.#complete) this.#lose(closed);
  }

  #left(complete: boolean): void {
    this.#full = false;
    if (this.#exchange.destroyed) this.#lost ??= closed;
    else this.#complete = complete;
    this.#wake?.();
  }

  #cut(why: string): void {
    this.#lost ??= why;
    this.#exchange.destroy();
    this.#lose(why);
  }

  #lose(why: string): void {
    this.#lost ??= why;
    this.#wake?.();
    this.#break(this.#lost);
  }

  #break(why: string): void {
    if (this.#settle === undefined) return;
    const body = this.#body;
    this.#finish({ error: new ConnectionLostError(why) });
    body?.stop();
  }

  #finish(failure: Failure | undefined): void {
    const settle = this.#settle;
    this.#settle = undefined;
    this.#body?.over();
    this.#body = undefined;
    this.close();
    settle?.(failure);
  }

  #beginWait(): void {
    const { clock, stallMs } = this.#options;
    this.#stalledSinceMs = clock.monotonic();
    this.#stallTimer ??= clock.setTimer(() => this.#look(), stallMs);
  }

  /** Looks again later when the present wait has begun only since the last look. */
  #look(): void {
    const { clock, stallMs } = this.#options;
    this.#stallTimer = undefined;
    if (this.#stalledSinceMs === undefined) return;
    const leftMs = this.#stalledSinceMs + stallMs - clock.monotonic();
    if (leftMs > 0) this.#stallTimer = clock.setTimer(() => this.#look(), leftMs);
    else this.#cut('the client does not read');
  }
}

/** Parts from here on are sent as they are instead of being copied. */
const directBytes = 64 * 1024;

export interface PiecesOptions {
  readonly sending: Sending;
  readonly body: PartsBody;
  /** Filled and sent by turns. */
  readonly buffers: readonly [Buffer, Buffer];
  readonly turns: TurnQueue;
}

/** Puts the parts of a body together into pieces: one is filled while the one before leaves. */
export class Pieces {
  readonly #options: PiecesOptions;
  #buffer: Buffer;
  #at = 0;

  constructor(options: PiecesOptions) {
    this.#options = options;
    this.#buffer = options.buffers[0];
  }

  /** Resolves when all of it has left. Throws a ConnectionLostError. */
  async send(): Promise<void> {
    const { parts } = this.#options.body;
    if (parts instanceof SeparatedParts) await this.#addList(parts);
    else {
      const { turns } = this.#options;
      for (const part of parts) {
        const wait = this.#add(part) ?? turns.pause();
        if (wait !== undefined) await wait;
      }
    }
    await this.#give(this.#buffer.subarray(0, this.#at), true);
    await this.#options.sending.left();
  }

  /** Without an iterator in between: lists have thousands of parts. */
  async #addList(parts: SeparatedParts): Promise<void> {
    const { head, count, itemAt, skipped, separator, tail } = parts.options;
    const { turns } = this.#options;
    await this.#add(head);
    for (let i = 0; i < count; i++) {
      const between = i === 0 ? undefined : this.#add(separator);
      if (between !== undefined) await between;
      const wait = this.#add(itemAt(i), skipped) ?? (parts.isTurnOver(i) ? turns.pause() : undefined);
      if (wait !== undefined) await wait;
    }
    await this.#add(tail);
  }

  /** What comes behind the first `from` bytes. A promise when the next part has to wait. */
  #add(part: BodyPart, from = 0): Promise<void> | undefined {
    const length = part.length - from;
    if (this.#at + length > this.#buffer.length)
      return this.#further(Buffer.isBuffer(part) ? part.subarray(from) : behind(part, from));
    this.#at += part.copy(this.#buffer, this.#at, from);
    return undefined;
  }

  /** What there is no room for in the present piece. */
  async #further(part: Buffer): Promise<void> {
    if (part.length >= directBytes) {
      if (this.#at > 0) await this.#next();
      await this.#give(part, false);
      return this.#options.turns.pause();
    }
    const room = this.#buffer.length - this.#at;
    this.#buffer.set(part.subarray(0, room), this.#at);
    this.#at += room;
    await this.#next();
    this.#buffer.set(part.subarray(room));
    this.#at = part.length - room;
  }

  /** Sends the present piece and goes on with the other buffer, which has left by then. */
  async #next(): Promise<void> {
    const { buffers, turns } = this.#options;
    await this.#give(this.#buffer.subarray(0, this.#at), false);
    this.#buffer = this.#buffer === buffers[0] ? buffers[1] : buffers[0];
    this.#at = 0;
    await turns.pause();
  }

  async #give(bytes: Buffer, ends: boolean): Promise<void> {
    const { sending, body } = this.#options;
    await sending.left();
    body.passed(bytes);
    sending.give(bytes, ends);
  }
}
