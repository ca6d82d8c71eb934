/** Reads Protobuf with full bounds checking. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { tooMany } from '#apimachinery/codec/json/size-limit.js';
import { maxDepth } from '#apimachinery/codec/json/walk.js';
import { wire } from '#apimachinery/codec/protobuf/writer.js';
import type { InternTable } from '#apimachinery/intern-table.js';

/** Decodes raw fields that may contain more than JSON, at nesting `depth`; undefined for unknown bytes. */
export type RawReader = (bytes: Buffer, depth: number) => unknown;

/** Options for decoding objects. */
export interface ReadOptions {
  /** Shares nested messages; absent: no sharing. */
  readonly table?: InternTable | undefined;
  /** Skips `metadata.managedFields`. */
  readonly withoutManagers?: boolean | undefined;
  /** Maximum number of messages and map entries per object; absent: unlimited. */
  readonly maxParts?: number | undefined;
}

/** Decodes a map entry that was skipped before. */
export type LateEntry = () => void;

/** Options for decoding several messages of an object. */
export interface MessageOptions extends ReadOptions {
  /** Collects deferred entries of large maps in order; absent: decodes everything at once. */
  readonly late?: LateEntry[] | undefined;
  readonly raw?: RawReader | undefined;
  /** Nesting depth of the message; default 0. */
  readonly depth?: number | undefined;
}

const nothing: MessageOptions = {};

export class Reader {
  readonly buffer: Buffer;
  readonly raw: RawReader | undefined;
  readonly table: InternTable | undefined;
  readonly withoutManagers: boolean;
  readonly late: LateEntry[] | undefined;
  /** Index of the next byte. */
  at: number;
  /** Index after the last byte of the current message. */
  end: number;
  /** Nesting depth of the current message. */
  depth: number;
  readonly #maxParts: number;
  #parts = 0;

  constructor(buffer: Buffer, start = 0, options: MessageOptions = nothing) {
    this.buffer = buffer;
    this.raw = options.raw;
    this.table = options.table;
    this.withoutManagers = options.withoutManagers ?? false;
    this.late = options.late;
    this.at = start;
    this.end = buffer.length;
    this.depth = options.depth ?? 0;
    this.#maxParts = options.maxParts ?? Number.POSITIVE_INFINITY;
  }

  /** Skips a map entry to decode it later. Only for entries without messages: the depth is not preserved. */
  postpone(late: LateEntry[], read: (reader: Reader) => void): void {
    const start = this.at;
    this.skip(wire.delimited);
    const end = this.at;
    late.push(() => read(this.between(start, end)));
  }

  /** The same reader, moved to a message at another range of the buffer. */
  between(start: number, end: number): this {
    this.at = start;
    this.end = end;
    return this;
  }

  /** An unsigned number below 2^32: keys and lengths. */
  uint32(): number {
    const { at, end, buffer } = this;
    // Fast path: nearly all keys and lengths take one or two bytes.
    if (end - at >= 2) {
      const first = buffer[at] as number;
      if (first < 0x80) {
        this.at = at + 1;
        return first;
      }
      const second = buffer[at + 1] as number;
      if (second < 0x80) {
        this.at = at + 2;
        return (second << 7) | (first & 0x7f);
      }
    }
    return this.#longUint32();
  }

  #longUint32(): number {
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

  #byte(): number {
    if (this.at >= this.end) throw new DecodeError('unexpected EOF');
    return this.buffer[this.at++] as number;
  }

  /** The lower 32 bits of a 64-bit number. */
  int32(): number {
    const value = this.int64(true);
    return typeof value === 'number' ? value | 0 : Number(BigInt.asIntN(32, value));
  }

  /** A 64-bit number in the representation of API values (`int64Value`). */
  int64(signed: boolean): number | bigint {
    const { at, end, buffer } = this;
    if (at < end) {
      const first = buffer[at] as number;
      if (first < 0x80) {
        this.at = at + 1;
        return first;
      }
    }
    return this.#longInt64(signed);
  }

  /** Assembles parts of 28, 28 and 8 bits. */
  #longInt64(signed: boolean): number | bigint {
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (i < 4) low |= bits << (7 * i);
      else if (i < 8) middle |= bits << (7 * (i - 4));
      // Truncates to 64 bits.
      else high |= (bits << (7 * (i - 8))) & 0xff;
      if (byte < 0x80) {
        const upper = high * 2 ** 24 + Math.floor(middle / 16);
        const lower = (middle & 0x0f) * 2 ** 28 + low;
        // Two's complement: small negative numbers stay exact.
        const signedUpper = signed && high >= 0x80 ? upper - 2 ** 32 : upper;
        const value = signedUpper * 2 ** 32 + lower;
        return Number.isSafeInteger(value) ? value : BigInt(signedUpper) * 2n ** 32n + BigInt(lower);
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

  /** Skips that many bytes and returns their start. */
  #take(size: number): number {
    const start = this.at;
    if (size > this.end - start) throw new DecodeError('unexpected EOF');
    this.at = start + size;
    return start;
  }

  /** A length-prefixed byte string, as a view of the buffer. */
  bytes(): Buffer {
    const size = this.uint32();
    const start = this.#take(size);
    return this.buffer.subarray(start, start + size);
  }

  string(): string {
    const size = this.uint32();
    const start = this.#take(size);
    return this.buffer.toString('utf8', start, start + size);
  }

  /** Enters a nested message; returns the argument for `leave`. */
  enter(): number {
    const size = this.uint32();
    const outer = this.end;
    if (size > outer - this.at) throw new DecodeError('unexpected EOF');
    this.end = this.at + size;
    return outer;
  }

  /** Leaves the nested message that `enter` entered. */
  leave(outer: number): void {
    this.at = this.end;
    this.end = outer;
  }

  /** Like `enter`, for recursive messages: throws if they are nested too deeply. */
  enterMessage(): number {
    const outer = this.enter();
    if (++this.depth > maxDepth) throw new DecodeError('exceeded max depth');
    this.count();
    return outer;
  }

  /** Messages and map entries so far. */
  get parts(): number {
    return this.#parts;
  }

  /** Counts a message or map entry. Throws 413 beyond the maximum. */
  count(): void {
    if (++this.#parts > this.#maxParts) throw tooMany('messages', this.#maxParts);
  }

  leaveMessage(outer: number): void {
    this.depth--;
    this.leave(outer);
  }

  /** Whether that key is next; skips it if so. */
  passes(key: number): boolean {
    const { at } = this;
    if (at >= this.end) return false;
    if (this.uint32() === key) return true;
    this.at = at;
    return false;
  }

  /** Skips a field of that wire type. */
  skip(wireType: number): void {
    switch (wireType) {
      case wire.varint:
        this.int64(false);
        return;
      case wire.fixed64:
        this.#take(8);
        return;
      case wire.delimited:
        this.#take(this.uint32());
        return;
      case wire.fixed32:
        this.#take(4);
        return;
      default:
        throw new DecodeError(`proto: illegal wireType ${wireType}`);
    }
  }
}
