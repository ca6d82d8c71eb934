/** Objects out of Protobuf, in the same canonical form that the JSON decoder gives. */
import { DecodeError } from '#apimachinery/codec/decode-error.js';
import { parseJSONText } from '#apimachinery/codec/json-text.js';
import {
  checkDepth,
  complete,
  type JsonObject,
  maxDepth,
  saysNothing,
  zeroElement,
} from '#apimachinery/codec/json-walk.js';
import { Reader } from '#apimachinery/codec/protobuf/reader.js';
import type { SharedTexts } from '#apimachinery/codec/protobuf/shared-texts.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import { formatDurationNanos } from '#apimachinery/duration.js';
import { canonicalQuantity, QuantityError } from '#apimachinery/quantity.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/**
 * Reads what raw fields may hold besides JSON, `depth` messages deep; gives undefined for bytes that it does not know.
 */
export type RawReader = (bytes: Buffer, depth: number) => unknown;

interface Context {
  readonly reader: Reader;
  readonly raw: RawReader | undefined;
  readonly texts: SharedTexts | undefined;
  depth: number;
}

/** What decoding one message after the other may use. */
export interface MessageOptions {
  readonly raw?: RawReader | undefined;
  /** Where strings are shared with those of other messages; absent: each is its own. */
  readonly texts?: SharedTexts | undefined;
  /** How many messages deep the message stands; default 0. */
  readonly depth?: number;
}

/** The object of a message without an envelope. Throws a DecodeError. */
export function decodeMessage(type: TypeInfo, bytes: Buffer, options: MessageOptions = {}): unknown {
  const { raw, texts, depth = 0 } = options;
  return readMessage({ reader: new Reader(bytes, 0, texts), raw, texts, depth }, type, undefined);
}

/** The message between the reader's position and its end. `known` is what an earlier occurrence of the field gave. */
function readMessage(context: Context, type: TypeInfo, known: unknown): unknown {
  if (++context.depth > maxDepth) throw new DecodeError('exceeded max depth');
  const value = readShape(context, type, known);
  context.depth--;
  return value;
}

function readShape(context: Context, type: TypeInfo, known: unknown): unknown {
  switch (type.shape) {
    case 'struct': {
      const object = (known as JsonObject | undefined) ?? {};
      readStruct(context, type, object, known === undefined);
      complete(type, object);
      return object;
    }
    case 'time':
    case 'microTime':
      return readTime(context, type.shape === 'microTime');
    case 'quantity':
      return readQuantity(context);
    case 'duration':
      return readDuration(context.reader);
    case 'intOrString':
      return readIntOrString(context.reader);
    case 'rawJSON':
      return readRaw(context);
    case 'bareList':
      return readWrapped(context, type).get(1) ?? [];
    case 'schemaOrArray':
    case 'schemaOrStringArray': {
      const parts = readWrapped(context, type);
      return parts.get(1) ?? parts.get(2) ?? [];
    }
    case 'schemaOrBool': {
      const parts = readWrapped(context, type);
      return parts.get(2) ?? parts.get(1) ?? false;
    }
  }
}

/** `isNew`: the object has none of the fields yet. */
function readStruct(context: Context, type: TypeInfo, object: JsonObject, isNew: boolean): void {
  const { reader } = context;
  // Fields come in ascending order from every encoder that is known. Looking up what is not there yet is slow.
  let highest = isNew ? 0 : Number.POSITIVE_INFINITY;
  let lastNumber = 0;
  let last: unknown;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    const number = key >>> 3;
    const field = type.byNumber.get(number);
    if (field === undefined) reader.skip(key & 7);
    else if (field.inline && field.type !== undefined) {
      expect(field, key & 7, wire.delimited);
      const outer = reader.enter();
      if (++context.depth > maxDepth) throw new DecodeError('exceeded max depth');
      readStruct(context, field.type, object, false);
      context.depth--;
      reader.leave(outer);
    } else {
      const isFirst = number > highest;
      const known = isFirst ? undefined : number === lastNumber ? last : object[field.name];
      last = readField(context, field, key & 7, known);
      // The list or map that grows is in its place already.
      if (last !== known || isFirst) put(object, field, last, isFirst);
      if (isFirst) highest = number;
      lastNumber = number;
    }
  }
}

function put(object: JsonObject, field: FieldInfo, value: unknown, isFirst: boolean): void {
  if (value !== undefined && !saysNothing(field, value)) object[field.name] = value;
  else if (!isFirst && object[field.name] !== undefined) delete object[field.name];
}

/** Fields by number, of types whose JSON is not an object of them. */
function readWrapped(context: Context, type: TypeInfo): Map<number, unknown> {
  const { reader } = context;
  const parts = new Map<number, unknown>();
  while (reader.at < reader.end) {
    const key = reader.uint32();
    const field = type.byNumber.get(key >>> 3);
    if (field === undefined) reader.skip(key & 7);
    else parts.set(field.number, readField(context, field, key & 7, parts.get(field.number)));
  }
  return parts;
}

/** A field's value after this occurrence of it. */
function readField(context: Context, field: FieldInfo, wireType: number, known: unknown): unknown {
  switch (field.container) {
    case 'single':
      return readElement(context, field, wireType, known);
    case 'list': {
      const list = (known as unknown[] | undefined) ?? [];
      if (wireType === wire.delimited && field.scalar !== undefined && isNumeric(field.scalar)) {
        readPacked(context, field, field.scalar, list);
      } else {
        list.push(readElement(context, field, wireType, undefined) ?? null);
      }
      return list;
    }
    case 'map': {
      const map = (known as JsonObject | undefined) ?? {};
      expect(field, wireType, wire.delimited);
      readEntry(context, field, map);
      return map;
    }
  }
}

function readElement(context: Context, field: FieldInfo, wireType: number, known: unknown): unknown {
  if (field.scalar !== undefined) {
    expect(field, wireType, wireTypeOf(field.scalar));
    return readScalar(context.reader, field.scalar);
  }
  if (field.type === undefined) throw new DecodeError(`${field.protoName} has no type`);
  expect(field, wireType, wire.delimited);
  const outer = context.reader.enter();
  const value = readMessage(context, field.type, known);
  context.reader.leave(outer);
  return value;
}

function readPacked(context: Context, field: FieldInfo, scalar: Scalar, into: unknown[]): void {
  const { reader } = context;
  const outer = reader.enter();
  while (reader.at < reader.end) into.push(readElement(context, field, wireTypeOf(scalar), undefined));
  reader.leave(outer);
}

function readEntry(context: Context, field: FieldInfo, map: JsonObject): void {
  const { reader } = context;
  const outer = reader.enter();
  let key = '';
  let value: unknown;
  while (reader.at < reader.end) {
    const next = reader.uint32();
    if (next >>> 3 === 1) {
      expect(field, next & 7, wire.delimited);
      key = reader.string();
    } else if (next >>> 3 === 2) value = readElement(context, field, next & 7, value);
    else reader.skip(next & 7);
  }
  reader.leave(outer);
  value ??= zeroElement(field);
  // Assigning to that name would set the prototype instead.
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true });
  else map[key] = value;
}

function expect(field: FieldInfo, actual: number, wanted: number): void {
  if (actual !== wanted) throw new DecodeError(`proto: wrong wireType = ${actual} for field ${field.protoName}`);
}

function isNumeric(scalar: Scalar): boolean {
  return scalar !== 'string' && scalar !== 'bytes';
}

function wireTypeOf(scalar: Scalar): number {
  if (scalar === 'string' || scalar === 'bytes') return wire.delimited;
  if (scalar === 'double') return wire.fixed64;
  return scalar === 'float' ? wire.fixed32 : wire.varint;
}

function readScalar(reader: Reader, scalar: Scalar): unknown {
  switch (scalar) {
    case 'string':
      return reader.string();
    case 'bytes':
      return reader.bytes().toString('base64');
    case 'bool':
      return reader.int64(false) !== 0;
    case 'int32':
      return reader.int64(true) | 0;
    case 'uint32':
      return reader.int64(false) >>> 0;
    case 'int64':
      return reader.int64(true);
    case 'uint64':
      return reader.int64(false);
    case 'double':
      return finite(reader.double());
    case 'float':
      return finite(reader.float());
  }
}

/** JSON has no other numbers. */
function finite(value: number): number {
  if (!Number.isFinite(value)) throw new DecodeError(`json: unsupported value: ${value}`);
  return value;
}

function readDuration(reader: Reader): string {
  let nanos = 0;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.varint)) nanos = reader.int64(true);
    else reader.skip(key & 7);
  }
  return formatDurationNanos(BigInt(nanos));
}

const minSeconds = -62135596800;
const maxSeconds = 253402300799;

function readTime(context: Context, micro: boolean): string | undefined {
  const { reader, texts } = context;
  if (reader.at >= reader.end) return undefined;
  let seconds = 0;
  let nanos = 0;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.varint)) seconds = reader.int64(true);
    else if (key === tag(2, wire.varint)) nanos = reader.int64(true);
    else reader.skip(key & 7);
  }
  if (seconds < minSeconds || seconds > maxSeconds) throw new DecodeError('time out of range');
  if (nanos < 0 || nanos > 999_999_999) throw new DecodeError('nanoseconds out of range');
  // The first second of year one is how the zero time arrives from clients that do not leave it out.
  if (seconds === minSeconds) return undefined;
  const text = texts === undefined ? instantText(seconds) : texts.instant(seconds, instantText);
  return micro ? `${text.slice(0, -1)}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : text;
}

function instantText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

function readIntOrString(reader: Reader): number | string {
  let isString = false;
  let number = 0;
  let text = '';
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.varint)) isString = reader.int64(true) === 1;
    else if (key === tag(2, wire.varint)) number = reader.int64(true) | 0;
    else if (key === tag(3, wire.delimited)) text = reader.string();
    else reader.skip(key & 7);
  }
  return isString ? text : number;
}

function readQuantity({ reader }: Context): string {
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

function readRaw(context: Context): unknown {
  const { reader, texts } = context;
  let bytes: Buffer | undefined;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.delimited)) bytes = reader.bytes();
    else reader.skip(key & 7);
  }
  if (bytes === undefined || bytes.length === 0) return undefined;
  const known = context.raw?.(bytes, context.depth);
  if (known !== undefined) return known;
  return texts === undefined ? parseRaw(bytes) : texts.raw(bytes, parseRaw);
}

function parseRaw(bytes: Buffer): unknown {
  try {
    const value = parseJSONText(bytes.toString('utf8'));
    checkDepth(value, maxDepth);
    return value ?? undefined;
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    throw new DecodeError(`raw value is not JSON: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
