/** Pieces of bodies, gathered in the memory that they are sent from. */

import { DataFrames } from '#http/http2/data-frames.js';
import type { ServerStream } from '#http/http2/server-stream.js';
import type { AnswerTarget, Piece } from '#http/server/answer-target.js';

/** Nothing but bytes of the body. */
export class PlainPiece implements Piece {
  readonly buffer: Buffer;
  readonly #target: AnswerTarget;
  #at = 0;

  constructor(buffer: Buffer, target: AnswerTarget) {
    this.buffer = buffer;
    this.#target = target;
  }

  get at(): number {
    return this.#at;
  }

  get length(): number {
    return this.#at;
  }

  hasRoom(length: number): boolean {
    return this.#at + length <= this.buffer.length;
  }

  mostRoom(): number {
    return this.buffer.length - this.#at;
  }

  wrote(length: number): void {
    this.#at += length;
  }

  send(left: () => void): void {
    this.#target.write(this.buffer.subarray(0, this.#at), left);
  }

  end(left: () => void): void {
    this.#target.end(this.buffer.subarray(0, this.#at), left);
  }
}

/** As HTTP/2 sends it. */
export class FramedPiece extends DataFrames implements Piece {
  readonly #stream: ServerStream;

  constructor(buffer: Buffer, stream: ServerStream) {
    super(buffer, stream.id);
    this.#stream = stream;
  }

  send(left: () => void): void {
    this.#stream.write(this, left);
  }

  end(left: () => void): void {
    this.#stream.end(this, left);
  }
}
