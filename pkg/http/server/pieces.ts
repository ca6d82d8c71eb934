/** Parts of a body gathered into pieces: one is filled while the one before leaves. */
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { AnswerTarget, Piece } from '#http/server/answer-target.js';
import type { Flight } from '#http/server/flight.js';
import { type BodyPart, behind, type SeparatedParts } from '#http/server/parts-body.js';

/** Parts from here on are written as they are instead of being copied. */
const directBytes = 64 * 1024;
/** Items up to here are not split where a piece is full, which leaves no more of it free. */
const unsplitBytes = 8 * 1024;

export interface PiecesOptions {
  readonly target: AnswerTarget;
  readonly flight: Flight;
  /** Filled and sent by turns. */
  readonly buffers: readonly [Buffer, Buffer];
  readonly turns: TurnQueue;
}

export class Pieces {
  readonly #options: PiecesOptions;
  #turn = 0;
  #piece: Piece;

  constructor(options: PiecesOptions) {
    this.#options = options;
    this.#piece = options.target.piece(options.buffers[0]);
  }

  /** A promise when the next part has to wait. */
  add(part: Buffer): Promise<void> | undefined {
    const piece = this.#piece;
    if (!piece.hasRoom(part.length)) return this.#further(part);
    part.copy(piece.buffer, piece.at);
    piece.wrote(part.length);
    return undefined;
  }

  /** Without an iterator in between: lists have thousands of parts. */
  async addAll(parts: SeparatedParts): Promise<void> {
    const { head, count, itemAt, skipped, separator, tail, made } = parts.options;
    const { turns } = this.#options;
    const nothing = Buffer.alloc(0);
    let bytes = head.length;
    try {
      await this.add(head);
      for (let i = 0; i < count; i++) {
        const item = itemAt(i);
        const between = i === 0 ? nothing : separator;
        bytes += between.length + item.length - skipped;
        let added = this.#addItem(between, item, skipped);
        if (!added && item.length <= unsplitBytes) {
          await this.#next();
          added = this.#addItem(between, item, skipped);
        }
        if (!added) {
          await this.add(between);
          await this.add(behind(item, skipped));
        }
        const wait = parts.isTurnOver(i) ? turns.pause() : undefined;
        if (wait !== undefined) await wait;
      }
      bytes += tail.length;
      await this.add(tail);
    } finally {
      made?.(bytes);
    }
  }

  /** Sends what is left and resolves when all of it has left. */
  async end(): Promise<void> {
    const { flight } = this.#options;
    if (!flight.idle) await flight.landed();
    flight.end((left) => this.#piece.end(left));
    await flight.landed();
  }

  /** False when there is no room for both in one piece of the memory. */
  #addItem(separator: Buffer, item: BodyPart, skipped: number): boolean {
    const piece = this.#piece;
    const length = item.length - skipped;
    if (!piece.hasRoom(separator.length + length)) return false;
    const { buffer, at } = piece;
    // So few bytes are copied faster one by one.
    for (let i = 0; i < separator.length; i++) buffer[at + i] = separator[i] as number;
    item.copy(buffer, at + separator.length, skipped);
    piece.wrote(separator.length + length);
    return true;
  }

  /** What has no room in the memory of the present frame or piece. */
  #further(part: Buffer): Promise<void> {
    return part.length >= directBytes ? this.#direct(part) : this.#split(part);
  }

  async #direct(part: Buffer): Promise<void> {
    const { target, flight, turns } = this.#options;
    if (this.#piece.length > 0) await this.#next();
    if (!flight.idle) await flight.landed();
    flight.send((left) => target.write(part, left));
    await turns.pause();
  }

  async #split(part: Buffer): Promise<void> {
    for (let from = 0; from < part.length; ) {
      const room = Math.min(this.#piece.mostRoom(), part.length - from);
      if (room === 0) {
        await this.#next();
        continue;
      }
      const { buffer, at } = this.#piece;
      buffer.set(part.subarray(from, from + room), at);
      this.#piece.wrote(room);
      from += room;
    }
  }

  /** Sends the present piece and goes on with the other buffer, which has left by then. */
  async #next(): Promise<void> {
    const { target, flight, turns, buffers } = this.#options;
    if (!flight.idle) await flight.landed();
    flight.send((left) => this.#piece.send(left));
    this.#turn ^= 1;
    this.#piece = target.piece(buffers[this.#turn as 0 | 1]);
    await turns.pause();
  }
}
