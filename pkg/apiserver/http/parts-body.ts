/** A body in many parts: written in pieces of the writer's choice, so that neither memory nor the event loop is held by it. */
import { setImmediate } from 'node:timers/promises';
import { type Bytes, joined as inOnePiece } from '#storage/segments/segmented.js';

/** Bytes of one piece for those who iterate. */
const pieceBytes = 64 * 1024;

/** Parts that are all there, with the same bytes between each two of them: what most lists are. */
export class SeparatedParts implements Iterable<Buffer> {
  readonly head: Buffer;
  readonly items: readonly Bytes[];
  /** May be empty. */
  readonly separator: Buffer;
  readonly tail: Buffer;

  constructor(head: Buffer, items: readonly Bytes[], separator: Buffer, tail: Buffer) {
    this.head = head;
    this.items = items;
    this.separator = separator;
    this.tail = tail;
  }

  *[Symbol.iterator](): Generator<Buffer, void, void> {
    yield this.head;
    for (const [i, item] of this.items.entries()) {
      if (i > 0) yield this.separator;
      yield inOnePiece(item);
    }
    yield this.tail;
  }
}

export class PartsBody implements AsyncIterable<Buffer> {
  /** Iterated once. */
  readonly parts: Iterable<Buffer> | AsyncIterable<Buffer>;
  /** Bytes of all parts; undefined where only making them would tell. */
  readonly length: number | undefined;
  /** Bytes of memory that making the parts takes, besides what they are made of. */
  readonly held: number;

  constructor(
    parts: Iterable<Buffer> | AsyncIterable<Buffer>,
    { length, held = 0 }: { readonly length?: number; readonly held?: number } = {},
  ) {
    this.parts = parts;
    this.length = length;
    this.held = held;
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
