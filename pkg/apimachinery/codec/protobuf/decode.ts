/** Decodes objects from Protobuf, into the same canonical form as the JSON decoder. */

import { formatTime } from '#apimachinery/clock.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { checkDepth, type JsonObject, maxDepth } from '#apimachinery/codec/json/walk.js';
import { type MessageOptions, Reader } from '#apimachinery/codec/protobuf/reader.js';
import { type ReadValue, StructReader, type ValueReader } from '#apimachinery/codec/protobuf/struct-reader.js';
import { tag, wire, wireTypeOf } from '#apimachinery/codec/protobuf/writer.js';
import { formatDurationNanos } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import { canonicalQuantity, QuantityError } from '#apimachinery/quantity.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Decodes a message without envelope. Throws a DecodeError. */
export function decodeMessage(type: TypeInfo, bytes: Buffer, options: MessageOptions = {}): unknown {
  return readMessage(type, new Reader(bytes, 0, options));
}

/**
 * Decodes a message without envelope into an object that has none of the type's fields yet. Throws a DecodeError, and a
 * TypeError for a type whose JSON is not an object of its fields.
 */
export function decodeInto(object: JsonObject, type: TypeInfo, bytes: Buffer, options: MessageOptions = {}): void {
  if (type.shape !== 'struct') throw new TypeError(`${type.name} is no object of its fields`);
  const reader = new Reader(bytes, 0, options);
  if (++reader.depth > maxDepth) throw new DecodeError('exceeded max depth');
  structReader(type).fill(reader, object);
}

/** Decodes the message between the reader's position and its end. Throws a DecodeError. */
export function readMessage(type: TypeInfo, reader: Reader): unknown {
  if (++reader.depth > maxDepth) throw new DecodeError('exceeded max depth');
  const value = messageReader(type)(reader, undefined);
  reader.depth--;
  return value;
}

const structReader = oncePer((type: TypeInfo) => new StructReader(type, valueReader));

/** The reader of messages of a type, between the reader's position and its end. */
const messageReader = oncePer(newMessageReader);

function newMessageReader(type: TypeInfo): ReadValue {
  const struct = structReader(type);
  switch (type.shape) {
    case 'struct':
      return struct.read;
    case 'time':
      return (reader) => readTime(reader, false);
    case 'microTime':
      return (reader) => readTime(reader, true);
    case 'quantity':
      return readQuantity;
    case 'duration':
      return readDuration;
    case 'intOrString':
      return readIntOrString;
    case 'rawJSON':
      return readRaw;
    case 'bareList':
      return (reader) => struct.parts(reader).get(1) ?? [];
    case 'schemaOrArray':
    case 'schemaOrStringArray':
      return (reader) => {
        const parts = struct.parts(reader);
        return parts.get(1) ?? parts.get(2) ?? [];
      };
    case 'schemaOrBool':
      return (reader) => {
        const parts = struct.parts(reader);
        return parts.get(2) ?? parts.get(1) ?? false;
      };
  }
}

/** Types that objects never share: names and versions are unique, and an object's owner may remove parts. */
const ownParts: ReadonlySet<string> = new Set(['meta.v1.ObjectMeta', 'meta.v1.ListMeta']);

function valueReader(field: FieldInfo): ValueReader {
  if (field.scalar !== undefined) return scalarReader(field.scalar);
  if (field.type === undefined) throw new TypeError(`${field.protoName} has no type`);
  const { type } = field;
  const read = messageReader(type);
  const isOwn = ownParts.has(type.name);
  return {
    wireType: wire.delimited,
    read: (reader, previous) => {
      const outer = reader.enterMessage();
      const { table, at, end } = reader;
      let value: unknown;
      // A repeated occurrence of a field is merged into the previous value, or into a copy if that may be shared.
      if (previous !== undefined) value = read(reader, table === undefined ? previous : structuredClone(previous));
      else if (isOwn || table === undefined) value = read(reader, undefined);
      else value = table.of(type, reader.buffer, at, end, () => read(reader, undefined));
      reader.leaveMessage(outer);
      return value;
    },
  };
}

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

function scalarReader(scalar: Scalar): ValueReader {
  return { wireType: wireTypeOf(scalar), read: readers[scalar] };
}

/** JSON has no other numbers. */
function finite(value: number): number {
  if (!Number.isFinite(value)) throw new DecodeError(`json: unsupported value: ${value}`);
  return value;
}

function readDuration(reader: Reader): string {
  let nanos: number | bigint = 0;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.varint)) nanos = reader.int64(true);
    else reader.skip(key & 7);
  }
  return formatDurationNanos(BigInt(nanos));
}

const minSeconds = -62135596800;
const maxSeconds = 253402300799;

function readTime(reader: Reader, micro: boolean): string | undefined {
  if (reader.at >= reader.end) return undefined;
  let seconds = 0;
  let nanos = 0;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.varint)) seconds = Number(reader.int64(true));
    else if (key === tag(2, wire.varint)) nanos = Number(reader.int64(true));
    else reader.skip(key & 7);
  }
  if (seconds < minSeconds || seconds > maxSeconds) throw new DecodeError('time out of range');
  if (nanos < 0 || nanos > 999_999_999) throw new DecodeError('nanoseconds out of range');
  // Clients that do not omit the zero time send it as the first second of year one.
  if (seconds === minSeconds) return undefined;
  const text = formatTime(seconds * 1000);
  return micro ? `${text.slice(0, -1)}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : text;
}

function readIntOrString(reader: Reader): number | string {
  let isString = false;
  let number = 0;
  let text = '';
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.varint)) isString = reader.int32() === 1;
    else if (key === tag(2, wire.varint)) number = reader.int32();
    else if (key === tag(3, wire.delimited)) text = reader.string();
    else reader.skip(key & 7);
  }
  return isString ? text : number;
}

function readQuantity(reader: Reader): string {
  let text = '';
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.delimited)) text = reader.string();
    else reader.skip(key & 7);
  }
  try {
    return canonicalQuantity(text === '' ? '0' : text);
  } catch (error) {
    if (error instanceof QuantityError) throw new DecodeError(error.message, { cause: error });
    throw error;
  }
}

function readRaw(reader: Reader): unknown {
  let bytes: Buffer | undefined;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.delimited)) bytes = reader.bytes();
    else reader.skip(key & 7);
  }
  if (bytes === undefined || bytes.length === 0) return undefined;
  const decoded = reader.raw?.(bytes, reader.depth);
  if (decoded !== undefined) return decoded;
  try {
    const value = parseJSONText(bytes.toString('utf8'));
    checkDepth(value, maxDepth);
    return value ?? undefined;
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    throw new DecodeError(`raw value is not JSON: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
