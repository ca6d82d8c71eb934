/**
 * Encodes objects as Protobuf, byte for byte like release 1.24: fields by ascending number, map keys sorted, fields
 * without presence written even if zero.
 */
import { ReverseWriter, tag, wire, wireTypeOf } from '#apimachinery/codec/protobuf/writer.js';
import { parseDurationNanos } from '#apimachinery/duration.js';
import { escapeHtml } from '#apimachinery/go-json.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** An object in memory violates its type: a defect of the program, not of its input. */
class EncodeError extends Error {
  override readonly name = 'EncodeError';
}

type Members = Readonly<Record<string, unknown>>;

/** Writes the fields of a message (no key, no length). `value` is canonical; undefined is the zero value. */
type WriteMessage = (writer: ReverseWriter, value: unknown) => void;

/** Writes a value after its key. */
type WriteValue = (writer: ReverseWriter, value: unknown) => void;

const nothing: Members = Object.freeze({});

/** Encodes a message without envelope. `value` is canonical, as from decoders. Throws an EncodeError. */
export function encodeMessage(type: TypeInfo, value: unknown): Buffer {
  const writer = new ReverseWriter();
  writeMessage(writer, type, value);
  return writer.finish();
}

/** Writes the message's fields (no key, no length). */
export function writeMessage(writer: ReverseWriter, type: TypeInfo, value: unknown): void {
  messageWriter(type)(writer, value);
}

/** Writers are compiled once per type. */
const messageWriter = oncePer(newMessageWriter);

function newMessageWriter(type: TypeInfo): WriteMessage {
  switch (type.shape) {
    case 'struct':
      return structWriter(type);
    case 'time':
    case 'microTime':
      return writeTime;
    case 'quantity':
      return (writer, value) => writer.text(textKey, value === undefined ? '0' : String(value));
    case 'duration':
      return (writer, value) => {
        writer.varint64(typeof value === 'string' ? parseDurationNanos(value) : 0, true);
        writer.varint(tag(1, wire.varint));
      };
    case 'intOrString':
      return writeIntOrString;
    case 'rawJSON': {
      const isExtension = type.name === 'runtime.RawExtension';
      return (writer, value) => {
        // Escapes like Go: clients compare their stored bytes with the output of Go's encoder.
        if (value === undefined) return;
        const json = toJSONText(value);
        writer.text(textKey, isExtension ? escapeHtml(json) : json);
      };
    }
    case 'bareList':
      return fieldWriter(fieldAt(type, 0));
    case 'schemaOrArray':
    case 'schemaOrStringArray': {
      const one = lazy(() => fieldWriter(fieldAt(type, 0)));
      const many = lazy(() => fieldWriter(fieldAt(type, 1)));
      return (writer, value) => (Array.isArray(value) ? many() : one())(writer, value);
    }
    case 'schemaOrBool': {
      const allows = lazy(() => fieldWriter(fieldAt(type, 0)));
      const schema = lazy(() => fieldWriter(fieldAt(type, 1)));
      return (writer, value) => {
        if (typeof value === 'object') schema()(writer, value);
        allows()(writer, value !== false && value !== undefined);
      };
    }
  }
}

/** Lazy, because types may be recursive. */
function lazy<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

function fieldAt(type: TypeInfo, index: number): FieldInfo {
  const field = type.fields[index];
  if (field === undefined) throw new EncodeError(`${type.name} has no field ${index}`);
  return field;
}

interface FieldWriter {
  readonly name: string;
  /** The members of an inline message belong to the outer object. */
  readonly inline: boolean;
  readonly write: WriteValue;
}

function structWriter(type: TypeInfo): WriteMessage {
  const fields = lazy(() =>
    type.fields.map((field): FieldWriter => ({ name: field.name, inline: field.inline, write: fieldWriter(field) })),
  );
  return (writer, value) => {
    if (value !== undefined && (typeof value !== 'object' || value === null)) {
      throw new EncodeError(`${type.name}: not an object`);
    }
    const object = (value ?? nothing) as Members;
    const writers = fields();
    for (let i = writers.length - 1; i >= 0; i--) {
      const { name, inline, write } = writers[i] as FieldWriter;
      write(writer, inline ? object : object[name]);
    }
  };
}

function fieldWriter(field: FieldInfo): WriteValue {
  if (field.container === 'map') return mapWriter(field);
  const write = valueWriter(field, field.number);
  if (field.container === 'list') {
    return (writer, value) => {
      // Internal code may set null where JSON omits the member.
      if (value === undefined || value === null) return;
      if (!Array.isArray(value)) throw new EncodeError(`${field.protoName}: not a list`);
      for (let i = value.length - 1; i >= 0; i--) write(writer, value[i]);
    };
  }
  // Absent values of pointers and slices are omitted.
  const hasPresence = field.pointer || field.scalar === 'bytes' || field.type?.shape === 'bareList';
  return (writer, value) => {
    if (value !== undefined && value !== null) write(writer, value);
    else if (!hasPresence) write(writer, undefined);
  };
}

/** Writes a field's value, list element or map value with that field number. */
function valueWriter({ scalar, type }: FieldInfo, number: number): WriteValue {
  if (scalar !== undefined) return scalarWriter(scalar, number);
  if (type === undefined) return () => undefined;
  const key = tag(number, wire.delimited);
  const write = messageWriter(type);
  return (writer, value) => {
    const before = writer.length;
    write(writer, value ?? undefined);
    writer.head(key, writer.length - before);
  };
}

function mapWriter(field: FieldInfo): WriteValue {
  const key = tag(field.number, wire.delimited);
  const write = valueWriter(field, 2);
  return (writer, value) => {
    if (value === undefined || value === null) return;
    if (typeof value !== 'object') throw new EncodeError(`${field.protoName}: not a map`);
    const names = Object.keys(value);
    if (names.length > 1) names.sort(byBytes);
    for (let i = names.length - 1; i >= 0; i--) {
      const name = names[i] as string;
      const before = writer.length;
      write(writer, (value as Members)[name]);
      writer.text(textKey, name);
      writer.head(key, writer.length - before);
    }
  };
}

/** Orders by UTF-8 bytes, i.e. by code points. */
function byBytes(a: string, b: string): number {
  if (a === b) return 0;
  // Only surrogates order differently in UTF-16 than in UTF-8.
  if (/[\ud800-\uffff]/.test(a + b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}

/** The key of a first field that is text. */
const textKey = tag(1, wire.delimited);

function asInteger(value: unknown): number | bigint {
  return typeof value === 'bigint' ? value : asNumber(value);
}

function asNumber(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value !== 'number') throw new EncodeError(`not a number: ${String(value)}`);
  return value;
}

function scalarWriter(scalar: Scalar, number: number): WriteValue {
  const key = tag(number, wireTypeOf(scalar));
  switch (scalar) {
    case 'string':
      return (writer, value) => writer.text(key, value === undefined ? '' : String(value));
    case 'bytes':
      return (writer, value) => {
        const data = Buffer.from(value === undefined ? '' : String(value), 'base64');
        writer.bytes(data);
        writer.head(key, data.length);
      };
    case 'bool':
      return (writer, value) => writer.head(key, value === true ? 1 : 0);
    case 'int32':
    case 'int64':
      return (writer, value) => {
        writer.varint64(asInteger(value), true);
        writer.varint(key);
      };
    case 'uint32':
    case 'uint64':
      return (writer, value) => {
        writer.varint64(asInteger(value), false);
        writer.varint(key);
      };
    case 'double':
      return (writer, value) => {
        writer.double(asNumber(value));
        writer.varint(key);
      };
    case 'float':
      return (writer, value) => {
        writer.float(asNumber(value));
        writer.varint(key);
      };
  }
}

/** Writes seconds and nanoseconds; nothing for the zero time. */
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
  writer.text(tag(3, wire.delimited), typeof value === 'string' ? value : '');
  writer.varint64(typeof value === 'number' ? value : 0, true);
  writer.varint(tag(2, wire.varint));
  writer.head(tag(1, wire.varint), typeof value === 'string' ? 1 : 0);
}
