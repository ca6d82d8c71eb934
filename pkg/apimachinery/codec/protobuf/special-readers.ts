/** Reads the messages that are something else than an object of their fields in JSON, up to the reader's end. */

import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { checkDepth, maxDepth } from '#apimachinery/codec/json/walk.js';
import type { Reader } from '#apimachinery/codec/protobuf/reader.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import { formatDurationNanos } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { canonicalQuantity, QuantityError } from '#apimachinery/quantity.js';

export function readDuration(reader: Reader): string {
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

export function readTime(reader: Reader, micro: boolean): string | undefined {
  const { texts } = reader;
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
  // The first second of year one is how the zero time arrives from clients that do not leave it out.
  if (seconds === minSeconds) return undefined;
  const text = texts === undefined ? instantText(seconds) : texts.instant(seconds, instantText);
  return micro ? `${text.slice(0, -1)}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : text;
}

function instantText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

export function readIntOrString(reader: Reader): number | string {
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

export function readQuantity(reader: Reader): string {
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

export function readRaw(reader: Reader): unknown {
  const { values } = reader;
  let bytes: Buffer | undefined;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key === tag(1, wire.delimited)) bytes = reader.bytes();
    else reader.skip(key & 7);
  }
  if (bytes === undefined || bytes.length === 0) return undefined;
  const known = reader.raw?.(bytes, reader.depth);
  if (known !== undefined) return known;
  return values === undefined ? parseRaw(bytes) : values.of(bytes, parseRaw);
}

function parseRaw(bytes: Buffer): unknown {
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
