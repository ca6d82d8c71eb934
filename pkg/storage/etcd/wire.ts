/**
 * The Protobuf wire format, as much as etcd's messages need: varints, lengths and bytes. Hand-written because revisions are
 * 64-bit and because values must come out as views of the received buffer, without a copy.
 */

const varint = 0;
const fixed64 = 1;
const delimited = 2;
const fixed32 = 5;

/** Largest part of a varint that is exact as a number: seven bytes of seven bits. */
const maxNumberBytes = 7;

export class WireWriter {
  /** Numbers are written as varints, bytes as they are, writers as what they hold. */
  readonly #parts: (number | bigint | Buffer | WireWriter)[] = [];
  #length = 0;

  /** An int64 or enum; zero is the default and not written. */
  int(field: number, value: bigint | number): this {
    if (value === 0 || value === 0n) return this;
    this.#number((field << 3) | varint);
    this.#number(value);
    return this;
  }

  bool(field: number, value: boolean): this {
    return this.int(field, value ? 1 : 0);
  }

  /** Bytes or a string; an empty one is the default and not written. */
  bytes(field: number, value: Buffer | string): this {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    return bytes.length === 0 ? this : this.message(field, bytes);
  }

  /** An embedded message: written even when empty. What a writer holds is copied once, when all of it is finished. */
  message(field: number, content: Buffer | WireWriter): this {
    const length = content instanceof WireWriter ? content.#length : content.length;
    this.#number((field << 3) | delimited);
    this.#number(length);
    this.#parts.push(content);
    this.#length += length;
    return this;
  }

  /** Bytes of all that is written. */
  get length(): number {
    return this.#length;
  }

  /** Writes all of it there, as `Buffer.copy` does, and returns how much that is. */
  copy(target: Buffer, from: number): number {
    return this.#write(target, from) - from;
  }

  finish(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#length);
    this.#write(bytes, 0);
    return bytes;
  }

  #number(value: number | bigint): void {
    const small = Number(value);
    const exact = small >= 0 && small <= maxShifted ? small : BigInt.asUintN(64, BigInt(value));
    this.#parts.push(exact);
    this.#length += varintLength(exact);
  }

  /** Returns where the next one begins. */
  #write(target: Buffer, from: number): number {
    let at = from;
    for (const part of this.#parts) {
      if (typeof part === 'number') at = writeVarint(target, at, part);
      else if (typeof part === 'bigint') at = writeLongVarint(target, at, part);
      else if (part instanceof WireWriter) at = part.#write(target, at);
      else at += part.copy(target, at);
    }
    return at;
  }
}

/** Numbers up to here are written without BigInt: shifts are of 32 bits, the sign's among them. */
const maxShifted = 2 ** 31 - 1;

function varintLength(value: number | bigint): number {
  if (typeof value === 'bigint') {
    let length = 1;
    for (let rest = value >> 7n; rest > 0n; rest >>= 7n) length++;
    return length;
  }
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  return value < 0x1000_0000 ? 4 : 5;
}

function writeVarint(target: Buffer, from: number, value: number): number {
  let at = from;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) target[at++] = (rest & 0x7f) | 0x80;
  target[at++] = rest;
  return at;
}

function writeLongVarint(target: Buffer, from: number, value: bigint): number {
  let at = from;
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) target[at++] = Number(rest & 0x7fn) | 0x80;
  target[at++] = Number(rest);
  return at;
}

/** The bytes are not a message. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Walks the fields of one message: `while (reader.next()) switch (reader.field) …`; unread fields are skipped. */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  #type = -1;
  #pending = false;
  field = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Moves to the next field; false at the end. */
  next(): boolean {
    if (this.#pending) this.#skip();
    if (this.#at >= this.#bytes.length) return false;
    const tag = this.#number();
    this.field = tag >>> 3;
    this.#type = tag & 7;
    this.#pending = true;
    return true;
  }

  /** The field as a signed 64-bit integer. */
  int64(): bigint {
    this.#pending = false;
    const start = this.#at;
    const value = this.#number();
    if (this.#at - start <= maxNumberBytes) return BigInt(value);
    let exact = 0n;
    for (let i = this.#at - 1; i >= start; i--) exact = (exact << 7n) | BigInt((this.#bytes[i] ?? 0) & 0x7f);
    return BigInt.asIntN(64, exact);
  }

  /** The field as a number; exact up to 2^49. */
  number(): number {
    this.#pending = false;
    return this.#number();
  }

  bool(): boolean {
    return this.number() !== 0;
  }

  /** A view of the field's bytes. */
  bytes(): Buffer {
    this.#pending = false;
    const length = this.#number();
    const start = this.#at;
    this.#at += length;
    if (this.#type !== delimited || this.#at > this.#bytes.length) throw new WireError('the message is cut off');
    return this.#bytes.subarray(start, this.#at);
  }

  string(): string {
    return this.bytes().toString('utf8');
  }

  message(): WireReader {
    return new WireReader(this.bytes());
  }

  #number(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new WireError('the message is cut off');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw new WireError('a number is too long');
  }

  #skip(): void {
    this.#pending = false;
    if (this.#type === varint) this.#number();
    else if (this.#type === fixed64) this.#at += 8;
    else if (this.#type === fixed32) this.#at += 4;
    else if (this.#type === delimited) this.bytes();
    else throw new WireError(`unknown wire type ${this.#type}`);
  }
}
