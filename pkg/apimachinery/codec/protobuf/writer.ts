import type { Scalar } from '#apimachinery/schema/schema.js';

/** Up to this length, writing characters one by one is faster than a call into Node.js. */
const shortText = 48;

/** Writes Protobuf back to front like gogo, so that the length of a message is known when its prefix is written. */
export class ReverseWriter {
  #buffer = Buffer.allocUnsafe(2048);
  #at = this.#buffer.length;

  /** Bytes written so far; differences give the length of parts. */
  get length(): number {
    return this.#buffer.length - this.#at;
  }

  /** The written bytes. The writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(this.#at);
  }

  #reserve(bytes: number): void {
    if (this.#at >= bytes) return;
    const written = this.length;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, written + bytes + 1024));
    this.#buffer.copy(larger, larger.length - written, this.#at);
    this.#buffer = larger;
    this.#at = larger.length - written;
  }

  /** An unsigned number below 2^53. */
  varint(value: number): void {
    this.#reserve(8);
    if (value < 0x80) {
      this.#buffer[--this.#at] = value;
      return;
    }
    let size = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
    this.#at -= size;
    let at = this.#at;
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[at] = rest;
  }

  /** A key and the number after it, usually a length: nearly always one byte each. */
  head(key: number, value: number): void {
    const at = this.#at;
    if (value < 0x80 && key < 0x80 && at >= 2) {
      this.#buffer[at - 1] = value;
      this.#buffer[at - 2] = key;
      this.#at = at - 2;
      return;
    }
    this.varint(value);
    this.varint(key);
  }

  /** A text with its key and length. */
  text(key: number, text: string): void {
    const before = this.length;
    this.string(text);
    this.head(key, this.length - before);
  }

  /** Any 64-bit number; negative ones in two's complement. Saturates numbers out of range. */
  varint64(value: number | bigint, signed: boolean): void {
    if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
      this.varint(value);
      return;
    }
    const low = signed ? -(2n ** 63n) : 0n;
    const high = signed ? 2n ** 63n - 1n : 2n ** 64n - 1n;
    const exact = BigInt(value);
    let rest = BigInt.asUintN(64, exact < low ? low : exact > high ? high : exact);
    const bytes: number[] = [];
    while (rest >= 0x80n) {
      bytes.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    for (const [i, byte] of bytes.entries()) this.#buffer[this.#at + i] = byte;
  }

  /** The text's UTF-8 bytes without length. */
  string(text: string): void {
    if (text.length <= shortText && this.#shortAscii(text)) return;
    const size = Buffer.byteLength(text);
    this.#reserve(size);
    this.#at -= size;
    this.#buffer.write(text, this.#at, size, 'utf8');
  }

  /** Writes ASCII text byte by byte; false, without writing, for other text. */
  #shortAscii(text: string): boolean {
    const { length } = text;
    this.#reserve(length);
    const buffer = this.#buffer;
    const start = this.#at - length;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) return false;
      buffer[start + i] = code;
    }
    this.#at = start;
    return true;
  }

  bytes(data: Uint8Array): void {
    this.#reserve(data.length);
    this.#at -= data.length;
    this.#buffer.set(data, this.#at);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#buffer.writeDoubleLE(value, this.#at);
  }

  float(value: number): void {
    this.#reserve(4);
    this.#at -= 4;
    this.#buffer.writeFloatLE(value, this.#at);
  }
}

/** Wire types. */
export const wire = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

/** The key before a field. */
export function tag(number: number, wireType: number): number {
  return number * 8 + wireType;
}

/** The wire type of a scalar that is not packed. */
export function wireTypeOf(scalar: Scalar): number {
  if (scalar === 'string' || scalar === 'bytes') return wire.delimited;
  if (scalar === 'double') return wire.fixed64;
  return scalar === 'float' ? wire.fixed32 : wire.varint;
}
