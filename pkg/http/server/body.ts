/** The bodies of answers: one buffer, many parts at hand, or pieces that come as they are made. */
import { setImmediate } from 'node:timers/promises';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';

export type Body = Buffer | PartsBody | SourceBody;

/** Is told of a body on its way. */
export interface BodyListener {
  /** A piece; its memory may be used for something else afterwards. */
  readonly part?: ((bytes: Buffer) => void) | undefined;
  /** Once: nothing more comes, or nothing more is wanted. */
  ended(): void;
}

/** What is not one buffer; taken once, by a ResponseWriter or by a reader in this process. */
export abstract class LongBody implements AsyncIterable<Buffer> {
  /** Bytes; undefined where only making them tells. */
  readonly length: number | undefined = undefined;
  /**
   * Bytes of memory that making it takes, besides what it is made of. Undefined: the body has no end of its own, or one that
   * depends on others, and is limited neither in time nor by the budget.
   */
  readonly held: number | undefined = undefined;
  /** Absent: none, as with nearly all watches. */
  listeners: BodyListener[] | undefined;

  /** To be called before the body is taken. */
  follow(listener: BodyListener): void {
    this.listeners ??= [];
    this.listeners.push(listener);
  }

  /** For the taker of a body that has listeners: a piece is passed on. */
  passed(bytes: Buffer): void {
    for (const { part } of this.listeners ?? []) part?.(bytes);
  }

  /** For the taker: nothing more is taken. Idempotent. */
  over(): void {
    const { listeners = [] } = this;
    this.listeners = undefined;
    for (const listener of listeners) listener.ended();
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

/** Bytes that are copied from where they are, of which a Buffer is one form. */
export interface BodyPart {
  readonly length: number;
  /** Copies what comes behind the first `from` bytes to `target` at `at`, where there is room for it; returns how many. */
  copy(target: Buffer, at: number, from?: number): number;
}

/** What comes behind the first `from` bytes, in one piece. */
export function behind(item: BodyPart, from: number): Buffer {
  const whole = Buffer.allocUnsafe(item.length - from);
  item.copy(whole, 0, from);
  return whole;
}

/** Bodies from here on are large: they are written in larger pieces, and may be begun before it is known how long they are. */
export const largeBodyBytes = 1024 * 1024;
/** Bytes of one piece for readers in this process. */
const pieceBytes = 64 * 1024;
/** Items between looks at whether others should have a turn: few, since some are encoded only when they are asked for. */
const itemsAtOnce = 16;

export interface SeparatedPartsOptions {
  readonly head: Buffer;
  /** Items that there are. */
  readonly count: number;
  readonly itemAt: (index: number) => BodyPart;
  /** Bytes at the beginning of each item that are left out. */
  readonly skipped: number;
  /** May be empty. */
  readonly separator: Buffer;
  readonly tail: Buffer;
}

/** Parts with the same bytes between each two of them: what most lists are. */
export class SeparatedParts implements Iterable<Buffer> {
  readonly options: SeparatedPartsOptions;

  constructor(options: SeparatedPartsOptions) {
    this.options = options;
  }

  /** Bytes of the first items and what belongs to them: of all when `upTo` is more than there are. */
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

  /** Whether others should have a turn behind that item. */
  isTurnOver(index: number): boolean {
    return index % itemsAtOnce === itemsAtOnce - 1;
  }

  /** All of them in one piece; they are so many bytes. */
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
  /** There are at least `largeBodyBytes` of them; without it, `length` says. */
  readonly isLarge?: boolean;
}

/** Parts at hand, which the writer puts together into pieces. */
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

  /** Pieces of about 64 kB, with a turn for all others in between. */
  protected async *iterate(): AsyncGenerator<Buffer, void, void> {
    for (const piece of pieces(this.parts)) {
      yield piece;
      await setImmediate();
    }
  }
}

/** Concatenates parts to pieces of about `pieceBytes`. */
export function* pieces(parts: Iterable<Buffer>): Generator<Buffer, void, void> {
  let held: Buffer[] = [];
  let size = 0;
  for (const part of parts) {
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
  /** A part, which is not empty. False: no more of them before the body is told to `resume`. Never throws. */
  part(bytes: Buffer): boolean;
  /** Called once, last; with an error where the body breaks off. Never throws. */
  ended(failure?: { readonly error: unknown }): void;
}

/**
 * A body that says by itself when there is a part of it, such as that of a watch. Waiting for the next part takes a promise or
 * two for each and for as long as the watch lasts, of which a server has thousands.
 */
export abstract class SourceBody extends LongBody {
  /** From now on parts come, the first maybe at once. */
  abstract start(sink: BodySink): void;

  /** The sink takes parts again; only after it has said that it does not. */
  abstract resume(): void;

  /** No more parts are wanted, and the sink is told nothing any more. Idempotent. */
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

/** The items of an iterable, each asked for when the one before has been taken. */
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
    // Nothing more is wanted of it, not even why it failed.
    Promise.resolve(this.#source.return?.()).catch(() => undefined);
  }

  /** Until the sink takes nothing more for now. */
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
