/** Response bodies: a buffer, parts at hand, or a source that produces parts. */
import { setImmediate } from 'node:timers/promises';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';

export type Body = Buffer | PartsBody | SourceBody;

/** Observes a body while it is sent. */
export interface BodyListener {
  /** A part; its memory may be reused afterwards. */
  readonly part?: ((bytes: Buffer) => void) | undefined;
  /** Called once: no more parts follow, or none are needed. */
  ended(): void;
}

/** A body that is not a single buffer. Consumed once, by a ResponseWriter or a reader in this process. */
export abstract class LongBody implements AsyncIterable<Buffer> {
  /** Length in bytes; undefined if unknown before it is produced. */
  readonly length: number | undefined = undefined;
  /**
   * Memory for producing the body, besides its source. Undefined for bodies without an end of their own, which have
   * neither a time limit nor a share of the budget.
   */
  readonly held: number | undefined = undefined;
  /** Absent for nearly all watches. */
  listeners: BodyListener[] | undefined;
  #ends: (() => void)[] | undefined;

  /** Must be called before the body is consumed. */
  follow(listener: BodyListener): void {
    this.listeners ??= [];
    this.listeners.push(listener);
  }

  /** Like `follow` for the end alone, without a cost per part. */
  onEnd(ended: () => void): void {
    this.#ends ??= [];
    this.#ends.push(ended);
  }

  /** Called by the consumer of a body with listeners: a part was sent. */
  passed(bytes: Buffer): void {
    for (const { part } of this.listeners ?? []) part?.(bytes);
  }

  /** Called by the consumer at the end. Idempotent. */
  over(): void {
    const { listeners = [] } = this;
    const ends = this.#ends ?? [];
    this.listeners = undefined;
    this.#ends = undefined;
    for (const listener of listeners) listener.ended();
    for (const ended of ends) ended();
  }

  /** For readers in this process. */
  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    const pieces = this.iterate();
    return {
      next: async () => {
        try {
          const item = await pieces.next();
          if (item.done === true) this.over();
          else this.passed(item.value);
          return item;
        } catch (error) {
          this.over();
          throw error;
        }
      },
      return: async () => {
        this.over();
        await pieces.return?.();
        return { done: true, value: undefined };
      },
    };
  }

  protected abstract iterate(): AsyncIterator<Buffer>;
}

/** Copyable bytes; a Buffer is one form. */
export interface BodyPart {
  readonly length: number;
  /** Copies bytes after the first `from` to `target` at `at`, which has room for them; returns their number. */
  copy(target: Buffer, at: number, from?: number): number;
}

/** A copy of the bytes after the first `from`. */
export function behind(item: BodyPart, from: number): Buffer {
  const whole = Buffer.allocUnsafe(item.length - from);
  item.copy(whole, 0, from);
  return whole;
}

/** Larger bodies are written in larger pieces, and may start before their length is known. */
export const largeBodyBytes = 1024 * 1024;
/** Piece size for readers in this process. */
const pieceBytes = 64 * 1024;
/** Items between two pauses for other work; small, because some items are encoded on demand. */
const itemsAtOnce = 16;

export interface SeparatedPartsOptions {
  readonly head: Buffer;
  /** Number of items. */
  readonly count: number;
  readonly itemAt: (index: number) => BodyPart;
  /** Bytes to skip at the start of each item. */
  readonly skipped: number;
  /** May be empty. */
  readonly separator: Buffer;
  readonly tail: Buffer;
}

/** Parts with a separator between them, as in most lists. */
export class SeparatedParts implements Iterable<Buffer> {
  readonly options: SeparatedPartsOptions;

  constructor(options: SeparatedPartsOptions) {
    this.options = options;
  }

  /** Total length, or a prefix of at least `upTo` bytes. */
  async lengthUpTo(upTo: number, turns: Pick<TurnQueue, 'pause'>): Promise<number> {
    const { head, count, itemAt, skipped, separator, tail } = this.options;
    let length = head.length + tail.length;
    for (let i = 0; i < count && length < upTo; i++) {
      length += itemAt(i).length - skipped + (i === 0 ? 0 : separator.length);
      const wait = this.isTurnOver(i) ? turns.pause() : undefined;
      if (wait !== undefined) await wait;
    }
    return length;
  }

  /** Whether to pause for other work after this item. */
  isTurnOver(index: number): boolean {
    return index % itemsAtOnce === itemsAtOnce - 1;
  }

  /** All parts in one buffer of `length` bytes. */
  joined(length: number): Buffer {
    const { head, count, itemAt, skipped, separator, tail } = this.options;
    const whole = Buffer.allocUnsafe(length);
    let at = 0;
    const add = (part: BodyPart, from = 0) => {
      at += part.copy(whole, at, from);
    };
    add(head);
    for (let i = 0; i < count; i++) {
      if (i > 0) add(separator);
      add(itemAt(i), skipped);
    }
    add(tail);
    return whole;
  }

  *[Symbol.iterator](): Generator<Buffer, void, void> {
    const { head, count, itemAt, skipped, separator, tail } = this.options;
    yield head;
    for (let i = 0; i < count; i++) {
      if (i > 0) yield separator;
      yield behind(itemAt(i), skipped);
    }
    yield tail;
  }
}

export interface PartsBodyOptions {
  readonly length?: number | undefined;
  /** Whether the body has at least `largeBodyBytes`; default: as `length` says. */
  readonly isLarge?: boolean;
}

/** Parts at hand, which the writer joins into pieces. */
export class PartsBody extends LongBody {
  /** Iterated once. */
  readonly parts: Iterable<Buffer>;
  override readonly length: number | undefined;
  override readonly held = 0;
  readonly isLarge: boolean;

  constructor(parts: Iterable<Buffer>, { length, isLarge }: PartsBodyOptions = {}) {
    super();
    this.parts = parts;
    this.length = length;
    this.isLarge = isLarge ?? (length ?? 0) >= largeBodyBytes;
  }

  /** Pieces of about 64 kB, with a pause for other work after each. */
  protected async *iterate(): AsyncGenerator<Buffer, void, void> {
    for (const piece of pieces(this.parts)) {
      yield piece;
      await setImmediate();
    }
  }
}

/** Joins parts into pieces of about `pieceBytes`. A larger part is a piece of its own, and is not copied. */
export function* pieces(parts: Iterable<Buffer>): Generator<Buffer, void, void> {
  let held: Buffer[] = [];
  let size = 0;
  for (const part of parts) {
    if (part.length >= pieceBytes && size > 0) {
      yield joined(held, size);
      held = [];
      size = 0;
    }
    held.push(part);
    size += part.length;
    if (size < pieceBytes) continue;
    yield joined(held, size);
    held = [];
    size = 0;
  }
  if (size > 0) yield joined(held, size);
}

function joined(parts: readonly Buffer[], size: number): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts, size);
}

export interface BodySink {
  /** Takes a non-empty part. Returns false to pause the body until `resume`. Never throws. */
  part(bytes: Buffer): boolean;
  /** Called once, at the end, with an error if the body broke off. Never throws. */
  ended(failure?: { readonly error: unknown }): void;
}

/**
 * A body that pushes its parts, such as a watch's. Pulling would keep a promise or two per body for the whole duration,
 * and a server has thousands of watches.
 */
export abstract class SourceBody extends LongBody {
  /** Starts to send parts, the first perhaps immediately. */
  abstract start(sink: BodySink): void;

  /** Continues after the sink returned false. */
  abstract resume(): void;

  /** Stops; the sink is not called any more. Idempotent. */
  abstract stop(): void;

  /** One part at a time. */
  protected iterate(): AsyncIterator<Buffer> {
    const parts: Buffer[] = [];
    let started = false;
    let over: { readonly failure: { readonly error: unknown } | undefined } | undefined;
    let wake: (() => void) | undefined;
    let holds = false;
    const sink: BodySink = {
      part(bytes) {
        parts.push(bytes);
        holds = true;
        wake?.();
        return false;
      },
      ended(failure) {
        over = { failure };
        wake?.();
      },
    };
    const done = { done: true, value: undefined } as const;
    return {
      next: async () => {
        for (;;) {
          const value = parts.shift();
          if (value !== undefined) return { done: false, value };
          if (over?.failure !== undefined) throw over.failure.error;
          if (over !== undefined) return done;
          const resumes = holds;
          holds = false;
          if (!started) this.start(sink);
          else if (resumes) this.resume();
          started = true;
          if (parts.length > 0 || over !== undefined) continue;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      },
      return: async () => {
        over = { failure: undefined };
        parts.length = 0;
        this.stop();
        wake?.();
        return done;
      },
    };
  }
}

export interface IterableBodyOptions {
  readonly length?: number | undefined;
  /** See `LongBody`. */
  readonly held?: number | undefined;
}

/** Pulls the items of an iterable one by one. */
export class IterableBody extends SourceBody {
  override readonly length: number | undefined;
  override readonly held: number | undefined;
  readonly #source: AsyncIterator<Buffer>;
  #sink: BodySink | undefined;

  constructor(source: AsyncIterable<Buffer>, { length, held }: IterableBodyOptions = {}) {
    super();
    this.#source = source[Symbol.asyncIterator]();
    this.length = length;
    this.held = held;
  }

  start(sink: BodySink): void {
    this.#sink = sink;
    this.resume();
  }

  resume(): void {
    void this.#pass();
  }

  stop(): void {
    this.#sink = undefined;
    // Errors no longer matter.
    Promise.resolve(this.#source.return?.()).catch(() => undefined);
  }

  /** Passes items until the sink pauses. */
  async #pass(): Promise<void> {
    try {
      for (;;) {
        const item = await this.#source.next();
        if (item.done === true) return this.#sink?.ended();
        if (item.value.length > 0 && this.#sink?.part(item.value) !== true) return;
      }
    } catch (error) {
      this.#sink?.ended({ error });
    }
  }

  protected override iterate(): AsyncIterator<Buffer> {
    return this.#source;
  }
}
