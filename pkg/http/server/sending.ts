/** Sends one response: tracks what has left and whether the client still reads. */
import type { Turns } from '#apimachinery/async/turn-queue.js';
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

/** The connection was lost, or cut because the client did not read. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

export interface SendingOptions {
  readonly clock: Clock;
  /** A client that accepts nothing for this long is cut off. */
  readonly stallMs: number;
  /** Time limit of a body with an end. */
  readonly limitMs: number;
}

type Failure = { readonly error: unknown };

const closed = 'connection closed';

export class Sending implements ExchangeListener, BodySink {
  readonly #exchange: Exchange;
  readonly #options: SendingOptions;
  /** The last bytes have not left yet, or the exchange has no room. */
  #full = false;
  /** The exchange reports room by `drained`. */
  #drains = false;
  /** Everything has left, so a close is not a loss. */
  #complete = false;
  /** Why the connection is unusable. */
  #lost: string | undefined;
  /** Called when there is room, and when the connection is lost. */
  #wake: (() => void) | undefined;
  #limit: Timer | undefined;
  /** Since when the client has accepted nothing; monotonic ms. Undefined while nothing waits. */
  #stalledSinceMs: number | undefined;
  /** One timer for many waits, nearly all of which are short. */
  #stallTimer: Timer | undefined;
  #body: SourceBody | undefined;
  #settle: ((failure: Failure | undefined) => void) | undefined;

  constructor(exchange: Exchange, options: SendingOptions) {
    this.#exchange = exchange;
    this.#options = options;
    exchange.listener = this;
    if (exchange.destroyed) this.#lost = closed;
  }

  /** Starts the time limit. */
  limit(): void {
    const { clock, limitMs } = this.#options;
    this.#limit = clock.setTimer(() => this.#cut('the answer took too long'), limitMs);
  }

  /** Must be called once, at the end. */
  close(): void {
    this.#limit?.cancel();
    this.#stallTimer?.cancel();
    this.#exchange.listener = undefined;
  }

  /**
   * Passes bytes to the exchange, after the previous ones have `left`; `ends` marks the last. The memory is free once
   * they have left.
   */
  give(bytes: Buffer, ends = false): void {
    this.#full = true;
    if (ends) this.#exchange.end(bytes, () => this.#left(true));
    else this.#exchange.write(bytes, () => this.#left(false));
  }

  /** Resolves when the given bytes have left. Throws a ConnectionLostError. */
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

  /** Sends a body's parts while there is room. Resolves at its end; rejects with the error that broke it off. */
  pass(body: SourceBody): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#body = body;
      this.#settle = (failure) => (failure === undefined ? resolve() : reject(failure.error));
      if (this.#lost === undefined) body.start(this);
      else this.#break(this.#lost);
    });
  }

  part(bytes: Buffer): boolean {
    if (this.#settle === undefined) return false;
    if (this.#body?.listeners !== undefined) this.#body.passed(bytes);
    if (this.#exchange.write(bytes)) return true;
    this.#full = true;
    this.#drains = true;
    this.#beginWait();
    return false;
  }

  ended(failure?: Failure): void {
    if (this.#settle === undefined) return;
    if (failure === undefined) this.#exchange.end();
    this.#finish(failure);
  }

  drained(): void {
    if (!this.#drains) return;
    this.#drains = false;
    this.#full = false;
    this.#stalledSinceMs = undefined;
    this.#body?.resume();
  }

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

  /** Waits again if the current wait began after the last check. */
  #look(): void {
    const { clock, stallMs } = this.#options;
    this.#stallTimer = undefined;
    if (this.#stalledSinceMs === undefined) return;
    const leftMs = this.#stalledSinceMs + stallMs - clock.monotonic();
    if (leftMs > 0) this.#stallTimer = clock.setTimer(() => this.#look(), leftMs);
    else this.#cut('the client does not read');
  }
}

/** Larger parts are sent without copying. */
const directBytes = 64 * 1024;

export interface PiecesOptions {
  readonly sending: Sending;
  readonly body: PartsBody;
  /** Filled and sent in turn. */
  readonly buffers: readonly [Buffer, Buffer];
  readonly turns: Turns;
}

/** Joins the parts of a body into pieces; one is filled while the other is sent. */
export class Pieces {
  readonly #options: PiecesOptions;
  #buffer: Buffer;
  #at = 0;

  constructor(options: PiecesOptions) {
    this.#options = options;
    this.#buffer = options.buffers[0];
  }

  /** Resolves when everything has left. Throws a ConnectionLostError. */
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

  /** Avoids an iterator, since lists have thousands of parts. */
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

  /** Appends bytes after the first `from`. Returns a promise if the next part has to wait. */
  #add(part: BodyPart, from = 0): Promise<void> | undefined {
    const length = part.length - from;
    if (this.#at + length > this.#buffer.length)
      return this.#further(Buffer.isBuffer(part) ? part.subarray(from) : behind(part, from));
    this.#at += part.copy(this.#buffer, this.#at, from);
    return undefined;
  }

  /** Handles a part that exceeds the current piece. */
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

  /** Sends the current piece and switches to the other buffer, which has left by then. */
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
