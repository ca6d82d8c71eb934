/** Reads Protobuf with every bound checked. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { tooMany } from '#apimachinery/codec/json/size-limit.js';
import { maxDepth } from '#apimachinery/codec/json/walk.js';
import { wire } from '#apimachinery/codec/protobuf/writer.js';
import type { InternTable } from '#apimachinery/intern-table.js';

/**
 * Reads what raw fields may hold besides JSON, `depth` messages deep; gives undefined for bytes that it does not know.
 */
export type RawReader = (bytes: Buffer, depth: number) => unknown;

/** How objects are read. */
export interface ReadOptions {
  /** Messages inside of objects, which are shared then; absent: each is its own. */
  readonly table?: InternTable | undefined;
  /** Passes over `metadata.managedFields`. */
  readonly withoutManagers?: boolean | undefined;
  /** Messages and entries of maps that one object may have; absent: any number. */
  readonly maxParts?: number | undefined;
}

/** Reads the entry of a map that was passed over at first. */
export type LateEntry = () => void;

/** What decoding one message after the other may use. */
export interface MessageOptions extends ReadOptions {
  /** Takes what is left to read of large maps, in order; absent: all is read at once. */
  readonly late?: LateEntry[] | undefined;
  readonly raw?: RawReader | undefined;
  /** How many messages deep the message stands; default 0. */
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
  /** Index behind the last byte of the message that is being read. */
  end: number;
  /** How many messages deep the reader is. */
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

  /** Passes over an entry of a map, to be read later. Only for entries without messages: the depth is not kept. */
  postpone(late: LateEntry[], read: (reader: Reader) => void): void {
    const start = this.at;
    this.skip(wire.delimited);
    const end = this.at;
    late.push(() => read(this.between(start, end)));
  }

  /** The same reader for a message that lies between two other indexes of the buffer. */
  between(start: number, end: number): this {
    this.at = start;
    this.end = end;
    return this;
  }

  /** An unsigned number below 2^32: keys and lengths. */
  uint32(): number {
    const { at, end, buffer } = this;
    // Nearly every key and length is one byte or two.
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

  /** A 64-bit number, as values of the API have it (`int64Value`). */
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

  /** In three parts of 28, 28 and 8 bits. */
  #longInt64(signed: boolean): number | bigint {
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (i < 4) low |= bits << (7 * i);
      else if (i < 8) middle |= bits << (7 * (i - 4));
      // What does not fit into 64 bits is cut off.
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
    return this.buffer.toString('utf8', start, start + size);
  }

  /** Begins a nested message: returns what to hand to `leave`. */
  enter(): number {
    const size = this.uint32();
    const outer = this.end;
    if (size > outer - this.at) throw new DecodeError('unexpected EOF');
    this.end = this.at + size;
    return outer;
  }

  /** Ends the nested message that `enter` began. */
  leave(outer: number): void {
    this.at = this.end;
    this.end = outer;
  }

  /** The same for a message inside a message. Throws where these are too deep. */
  enterMessage(): number {
    const outer = this.enter();
    if (++this.depth > maxDepth) throw new DecodeError('exceeded max depth');
    this.count();
    return outer;
  }

  /** Messages and entries of maps so far. */
  get parts(): number {
    return this.#parts;
  }

  /** One more message or entry of a map. Throws 413 for one too many. */
  count(): void {
    if (++this.#parts > this.#maxParts) throw tooMany('messages', this.#maxParts);
  }

  leaveMessage(outer: number): void {
    this.depth--;
    this.leave(outer);
  }

  /** Whether that key comes next; it is passed over then. */
  passes(key: number): boolean {
    const { at } = this;
    if (at >= this.end) return false;
    if (this.uint32() === key) return true;
    this.at = at;
    return false;
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
