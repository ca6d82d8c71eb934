/** A body in many parts: written in pieces of the writer's choice, so that neither memory nor the event loop is held by it. */
import { setImmediate } from 'node:timers/promises';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';

/** Bytes that are copied from where they are, of which a Buffer is one form. */
export interface BodyPart {
  readonly length: number;
  /** Copies what comes behind the first `from` bytes to `target` at `at`, where there is room for it; returns how many. */
  copy(target: Buffer, at: number, from?: number): number;
}

/** Bytes of one piece for those who iterate. */
const pieceBytes = 64 * 1024;

/** Bodies from here on are large: they are written in larger pieces, and may be begun before it is known how long they are. */
export const largeBodyBytes = 1024 * 1024;

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
  /** Told how many bytes there were, once they have all been asked for or the client wants no more. */
  readonly made?: ((bytes: number) => void) | undefined;
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
    const { head, count, itemAt, skipped, separator, tail, made } = this.options;
    let bytes = 0;
    const part = (one: Buffer) => {
      bytes += one.length;
      return one;
    };
    try {
      yield part(head);
      for (let i = 0; i < count; i++) {
        if (i > 0) yield part(separator);
        yield part(behind(itemAt(i), skipped));
      }
      yield part(tail);
    } finally {
      made?.(bytes);
    }
  }
}

/** What comes behind the first `from` bytes, in one piece. */
export function behind(item: BodyPart, from: number): Buffer {
  const whole = Buffer.allocUnsafe(item.length - from);
  item.copy(whole, 0, from);
  return whole;
}

export interface PartsBodyOptions {
  /** Bytes of all parts; undefined where only making them would tell. */
  readonly length?: number | undefined;
  /** Bytes of memory that making the parts takes, besides what they are made of. */
  readonly held?: number;
  /** There are at least `largeBodyBytes` of them; without it, `length` says. */
  readonly isLarge?: boolean;
}

export class PartsBody implements AsyncIterable<Buffer> {
  /** Iterated once. */
  readonly parts: Iterable<Buffer> | AsyncIterable<Buffer>;
  /** See the options. */
  readonly length: number | undefined;
  readonly held: number;
  readonly isLarge: boolean;

  constructor(parts: Iterable<Buffer> | AsyncIterable<Buffer>, options: PartsBodyOptions = {}) {
    const { length, held = 0, isLarge = (length ?? 0) >= largeBodyBytes } = options;
    this.parts = parts;
    this.length = length;
    this.held = held;
    this.isLarge = isLarge;
  }

  /** The same bytes out of other parts. */
  with(parts: Iterable<Buffer> | AsyncIterable<Buffer>): PartsBody {
    return new PartsBody(parts, this);
  }

  /** For readers in this process: pieces of about 64 kB, with a turn for everybody else in between. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    if (!(Symbol.iterator in this.parts)) return yield* this.parts;
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
