/** Writes the parts of Protobuf's wire format that profiles need. */

export class ProtobufWriter {
  readonly #parts: Buffer[] = [];

  /** Zero, the default, is left out. */
  integer(field: number, value: number | bigint): this {
    if (BigInt(value) !== 0n) this.#parts.push(varint(BigInt(field) << 3n), varint(BigInt(value)));
    return this;
  }

  bytes(field: number, value: Buffer): this {
    this.#parts.push(varint((BigInt(field) << 3n) | 2n), varint(BigInt(value.length)), value);
    return this;
  }

  string(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, 'utf8'));
  }

  message(field: number, value: ProtobufWriter): this {
    return this.bytes(field, value.finish());
  }

  /** A repeated number, packed. */
  integers(field: number, values: readonly number[]): this {
    return this.bytes(field, Buffer.concat(values.map((value) => varint(BigInt(value)))));
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Base 128, least significant group first; negative numbers as 64-bit two's complement. */
function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}
