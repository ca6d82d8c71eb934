/**
 * Objects into Protobuf, byte for byte as release 1.24 writes them: fields by ascending number, keys of maps sorted,
 * fields without presence written even when they are zero.
 */
import { ReverseWriter, tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import { parseDurationNanos } from '#apimachinery/duration.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** An object in memory that is not of its type: a defect of the program, not of its input. */
export class EncodeError extends Error {
  override readonly name = 'EncodeError';
}

type Members = Readonly<Record<string, unknown>>;

const nothing: Members = Object.freeze({});

/** The message of a type, without an envelope. `value` is canonical, as decoders give it. Throws an EncodeError. */
export function encodeMessage(type: TypeInfo, value: unknown): Buffer {
  const writer = new ReverseWriter();
  writeMessage(writer, type, value);
  return writer.finish();
}

/** Writes the message's fields (no key, no length). */
export function writeMessage(writer: ReverseWriter, type: TypeInfo, value: unknown): void {
  switch (type.shape) {
    case 'struct':
      writeStruct(writer, type, members(type, value));
      return;
    case 'time':
    case 'microTime':
      writeTime(writer, value);
      return;
    case 'quantity':
      writeText(writer, 1, value === undefined ? '0' : String(value));
      return;
    case 'duration':
      writer.varint64(typeof value === 'string' ? parseDurationNanos(value) : 0, true);
      writer.varint(tag(1, wire.varint));
      return;
    case 'intOrString':
      writeIntOrString(writer, value);
      return;
    case 'rawJSON':
      if (value !== undefined) writeText(writer, 1, JSON.stringify(value));
      return;
    case 'bareList':
      writeField(writer, fieldAt(type, 0), value);
      return;
    case 'schemaOrArray':
    case 'schemaOrStringArray':
      if (Array.isArray(value)) writeField(writer, fieldAt(type, 1), value);
      else writeField(writer, fieldAt(type, 0), value);
      return;
    case 'schemaOrBool':
      if (typeof value === 'object') writeField(writer, fieldAt(type, 1), value);
      writeField(writer, fieldAt(type, 0), value !== false && value !== undefined);
      return;
  }
}

function members(type: TypeInfo, value: unknown): Members {
  if (value === undefined) return nothing;
  if (typeof value !== 'object' || value === null) throw new EncodeError(`${type.name}: not an object`);
  return value as Members;
}

function fieldAt(type: TypeInfo, index: number): FieldInfo {
  const field = type.fields[index];
  if (field === undefined) throw new EncodeError(`${type.name} has no field ${index}`);
  return field;
}

function writeStruct(writer: ReverseWriter, type: TypeInfo, object: Members): void {
  const { fields } = type;
  for (let i = fields.length - 1; i >= 0; i--) {
    const field = fields[i];
    if (field === undefined) continue;
    // An inline message's members are the object's own.
    writeField(writer, field, field.inline ? object : object[field.name]);
  }
}

function writeField(writer: ReverseWriter, field: FieldInfo, given: unknown): void {
  // Programs write null for what JSON would leave out.
  const value = given ?? undefined;
  switch (field.container) {
    case 'single':
      if (value === undefined && hasPresence(field)) return;
      writeElement(writer, field, value);
      return;
    case 'list':
      if (value === undefined) return;
      if (!Array.isArray(value)) throw new EncodeError(`${field.protoName}: not a list`);
      for (let i = value.length - 1; i >= 0; i--) writeElement(writer, field, value[i]);
      return;
    case 'map':
      if (value !== undefined) writeMap(writer, field, value);
      return;
  }
}

/** Whether an absent value is left out: pointers, and slices by nature. */
function hasPresence(field: FieldInfo): boolean {
  return field.pointer || field.scalar === 'bytes' || field.type?.shape === 'bareList';
}

function writeElement(writer: ReverseWriter, field: FieldInfo, value: unknown, number = field.number): void {
  if (field.scalar !== undefined) {
    writeScalar(writer, number, field.scalar, value);
  } else if (field.type !== undefined) {
    const before = writer.length;
    writeMessage(writer, field.type, value ?? undefined);
    writer.varint(writer.length - before);
    writer.varint(tag(number, wire.delimited));
  }
}

function writeMap(writer: ReverseWriter, field: FieldInfo, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw new EncodeError(`${field.protoName}: not a map`);
  const keys = Object.keys(value).sort(byBytes);
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] ?? '';
    const before = writer.length;
    writeElement(writer, field, (value as Members)[key], 2);
    writeText(writer, 1, key);
    writer.varint(writer.length - before);
    writer.varint(tag(field.number, wire.delimited));
  }
}

/** The order of the UTF-8 bytes, which is the order of code points. */
function byBytes(a: string, b: string): number {
  if (a === b) return 0;
  // Only surrogates order differently in UTF-16 than in UTF-8.
  if (/[\ud800-\uffff]/.test(a + b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}

function writeText(writer: ReverseWriter, number: number, text: string): void {
  const before = writer.length;
  writer.string(text);
  writer.varint(writer.length - before);
  writer.varint(tag(number, wire.delimited));
}

function asNumber(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value !== 'number') throw new EncodeError(`not a number: ${String(value)}`);
  return value;
}

function writeScalar(writer: ReverseWriter, number: number, scalar: Scalar, value: unknown): void {
  switch (scalar) {
    case 'string':
      writeText(writer, number, value === undefined ? '' : String(value));
      return;
    case 'bytes': {
      const data = Buffer.from(value === undefined ? '' : String(value), 'base64');
      writer.bytes(data);
      writer.varint(data.length);
      writer.varint(tag(number, wire.delimited));
      return;
    }
    case 'bool':
      writer.varint(value === true ? 1 : 0);
      writer.varint(tag(number, wire.varint));
      return;
    case 'int32':
    case 'int64':
      writer.varint64(asNumber(value), true);
      writer.varint(tag(number, wire.varint));
      return;
    case 'uint32':
    case 'uint64':
      writer.varint64(asNumber(value), false);
      writer.varint(tag(number, wire.varint));
      return;
    case 'double':
      writer.double(asNumber(value));
      writer.varint(tag(number, wire.fixed64));
      return;
    case 'float':
      writer.float(asNumber(value));
      writer.varint(tag(number, wire.fixed32));
      return;
  }
}

/** Seconds and nanoseconds; nothing at all for the zero time. */
function writeTime(writer: ReverseWriter, value: unknown): void {
  if (value === undefined) return;
  const text = String(value);
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new EncodeError(`not a time: ${JSON.stringify(text)}`);
  const fraction = text.length > 20 ? (/\.([0-9]{1,6})/.exec(text)?.[1] ?? '') : '';
  writer.varint(fraction === '' ? 0 : Number(fraction.padEnd(6, '0')) * 1000);
  writer.varint(tag(2, wire.varint));
  writer.varint64(Math.floor(ms / 1000), true);
  writer.varint(tag(1, wire.varint));
}

function writeIntOrString(writer: ReverseWriter, value: unknown): void {
  writeText(writer, 3, typeof value === 'string' ? value : '');
  writer.varint64(typeof value === 'number' ? value : 0, true);
  writer.varint(tag(2, wire.varint));
  writer.varint(typeof value === 'string' ? 1 : 0);
  writer.varint(tag(1, wire.varint));
}
