/** Reads Protobuf with every bound checked. */
import { DecodeError } from '#apimachinery/codec/decode-error.js';
import type { SharedTexts } from '#apimachinery/codec/protobuf/shared-texts.js';
import { wire } from '#apimachinery/codec/protobuf/writer.js';

export class Reader {
  readonly buffer: Buffer;
  readonly #texts: SharedTexts | undefined;
  /** Index of the next byte. */
  at: number;
  /** Index behind the last byte of the message that is being read. */
  end: number;

  /** `texts`: where strings are shared; absent: each is its own. */
  constructor(buffer: Buffer, start = 0, texts?: SharedTexts) {
    this.buffer = buffer;
    this.#texts = texts;
    this.at = start;
    this.end = buffer.length;
  }

  #byte(): number {
    if (this.at >= this.end) throw new DecodeError('unexpected EOF');
    return this.buffer[this.at++] ?? 0;
  }

  /** An unsigned number below 2^32: keys and lengths. */
  uint32(): number {
    // Nearly every key and length is one byte.
    const first = this.buffer[this.at] ?? 0x80;
    if (first < 0x80 && this.at < this.end) {
      this.at++;
      return first;
    }
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) {
        if (value > 0xffffffff) break;
        return value;
      }
    }
    throw new DecodeError('proto: integer overflow');
  }

  /** A 64-bit number; beyond 2^53 the nearest one. */
  int64(signed: boolean): number {
    const first = this.buffer[this.at] ?? 0x80;
    if (first < 0x80 && this.at < this.end) {
      this.at++;
      return first;
    }
    let low = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (i < 4) low += bits * 2 ** (7 * i);
      else if (i === 4) {
        low += (bits & 0x0f) * 2 ** 28;
        high = bits >> 4;
      } else high += bits * 2 ** (7 * i - 32);
      if (byte < 0x80) {
        high = high % 2 ** 32;
        if (!signed || high < 2 ** 31) return high * 2 ** 32 + low;
        // Two's complement: small negative numbers stay exact.
        return (high - 2 ** 32) * 2 ** 32 + low;
      }
    }
    throw new DecodeError('proto: integer overflow');
  }

  double(): number {
    return this.buffer.readDoubleLE(this.#take(8));
  }

  float(): number {
    return this.buffer.readFloatLE(this.#take(4));
  }

  /** Start of so many bytes, which are passed over. */
  #take(size: number): number {
    const start = this.at;
    if (size > this.end - start) throw new DecodeError('unexpected EOF');
    this.at = start + size;
    return start;
  }

  /** A length and so many bytes, as a view of the buffer. */
  bytes(): Buffer {
    const size = this.uint32();
    const start = this.#take(size);
    return this.buffer.subarray(start, start + size);
  }

  string(): string {
    const size = this.uint32();
    const start = this.#take(size);
    const end = start + size;
    return this.#texts === undefined
      ? this.buffer.toString('utf8', start, end)
      : this.#texts.text(this.buffer, start, end);
  }

  /** Begins a nested message: returns what to hand to `leave`. */
  enter(): number {
    const size = this.uint32();
    if (size > this.end - this.at) throw new DecodeError('unexpected EOF');
    const outer = this.end;
    this.end = this.at + size;
    return outer;
  }

  /** Ends the nested message that `enter` began. */
  leave(outer: number): void {
    this.at = this.end;
    this.end = outer;
  }

  /** Passes over a field of that wire type. */
  skip(wireType: number): void {
    switch (wireType) {
      case wire.varint:
        this.int64(false);
        return;
      case wire.fixed64:
        this.#take(8);
        return;
      case wire.delimited:
        this.bytes();
        return;
      case wire.fixed32:
        this.#take(4);
        return;
      default:
        throw new DecodeError(`proto: illegal wireType ${wireType}`);
    }
  }
}
