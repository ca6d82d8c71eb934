/** How scalars are read. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import type { ReadValue, ValueReader } from '#apimachinery/codec/protobuf/struct-reader.js';
import { wireTypeOf } from '#apimachinery/codec/protobuf/writer.js';
import type { Scalar } from '#apimachinery/schema/schema.js';

const readers: Readonly<Record<Scalar, ReadValue>> = {
  string: (reader) => reader.string(),
  bytes: (reader) => reader.bytes().toString('base64'),
  bool: (reader) => reader.int64(false) !== 0,
  int32: (reader) => reader.int32(),
  uint32: (reader) => reader.int32() >>> 0,
  int64: (reader) => reader.int64(true),
  uint64: (reader) => reader.int64(false),
  double: (reader) => finite(reader.double()),
  float: (reader) => finite(reader.float()),
};

export function scalarReader(scalar: Scalar): ValueReader {
  return { wireType: wireTypeOf(scalar), read: readers[scalar] };
}

/** JSON has no other numbers. */
function finite(value: number): number {
  if (!Number.isFinite(value)) throw new DecodeError(`json: unsupported value: ${value}`);
  return value;
}
