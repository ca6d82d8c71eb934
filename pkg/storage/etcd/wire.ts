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
  readonly #parts: Buffer[] = [];
  #length = 0;

  /** An int64 or enum; zero is the default and not written. */
  int(field: number, value: bigint | number): this {
    if (value === 0 || value === 0n) return this;
    const bytes = varintBytes((field << 3) | varint);
    appendVarint(bytes, value);
    this.#push(Buffer.from(bytes));
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
    const head = varintBytes((field << 3) | delimited);
    appendVarint(head, length);
    this.#push(Buffer.from(head));
    if (content instanceof WireWriter) {
      for (const part of content.#parts) this.#push(part);
    } else {
      this.#push(content);
    }
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts, this.#length);
  }

  #push(part: Buffer): void {
    this.#parts.push(part);
    this.#length += part.length;
  }
}

/** Numbers up to here are written without BigInt: shifts are of 32 bits, the sign's among them. */
const maxShifted = 2 ** 31 - 1;

function varintBytes(value: bigint | number): number[] {
  const bytes: number[] = [];
  appendVarint(bytes, value);
  return bytes;
}

function appendVarint(bytes: number[], value: bigint | number): void {
  if (value >= 0 && value <= maxShifted) {
    let rest = Number(value);
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
    return;
  }
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
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
