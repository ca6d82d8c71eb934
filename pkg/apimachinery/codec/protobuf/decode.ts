/** Objects out of Protobuf, in the same canonical form that the JSON decoder gives. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { type JsonObject, maxDepth } from '#apimachinery/codec/json/walk.js';
import { type MessageOptions, Reader } from '#apimachinery/codec/protobuf/reader.js';
import { scalarReader } from '#apimachinery/codec/protobuf/scalar-reader.js';
import {
  readDuration,
  readIntOrString,
  readQuantity,
  readRaw,
  readTime,
} from '#apimachinery/codec/protobuf/special-readers.js';
import { type ReadValue, StructReader, type ValueReader } from '#apimachinery/codec/protobuf/struct-reader.js';
import { wire } from '#apimachinery/codec/protobuf/writer.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** The object of a message without an envelope. Throws a DecodeError. */
export function decodeMessage(type: TypeInfo, bytes: Buffer, options: MessageOptions = {}): unknown {
  return readMessage(type, new Reader(bytes, 0, options));
}

/**
 * Adds to an object that has none of the type's fields yet what a message without an envelope holds. Throws a
 * DecodeError, and a TypeError for a type whose JSON is no object of its fields.
 */
export function decodeInto(object: JsonObject, type: TypeInfo, bytes: Buffer, options: MessageOptions = {}): void {
  if (type.shape !== 'struct') throw new TypeError(`${type.name} is no object of its fields`);
  const reader = new Reader(bytes, 0, options);
  if (++reader.depth > maxDepth) throw new DecodeError('exceeded max depth');
  structReader(type).fill(reader, object);
}

/** The object of the message between the reader's position and its end. Throws a DecodeError. */
export function readMessage(type: TypeInfo, reader: Reader): unknown {
  if (++reader.depth > maxDepth) throw new DecodeError('exceeded max depth');
  const value = messageReader(type)(reader, undefined);
  reader.depth--;
  return value;
}

const structReader = oncePer((type: TypeInfo) => new StructReader(type, valueReader));

/** What reads messages of the type between the reader's position and its end. */
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

/** Names and versions are those of one object, and who keeps the object may take parts away. */
const ownParts: ReadonlySet<string> = new Set(['meta.v1.ObjectMeta', 'meta.v1.ListMeta']);

function valueReader(field: FieldInfo): ValueReader {
  if (field.scalar !== undefined) return scalarReader(field.scalar);
  if (field.type === undefined) throw new TypeError(`${field.protoName} has no type`);
  const { type } = field;
  const read = messageReader(type);
  const isShared = type.shape === 'struct' && !ownParts.has(type.name);
  return {
    wireType: wire.delimited,
    read: (reader, known) => {
      const outer = reader.enterMessage();
      const { messages } = reader;
      let value: unknown;
      // A field may come twice, and adds to what it gave before.
      if (known !== undefined) value = read(reader, Object.isFrozen(known) ? structuredClone(known) : known);
      else if (isShared && messages !== undefined) value = messages.of(type, reader, () => read(reader, undefined));
      else value = read(reader, undefined);
      reader.leaveMessage(outer);
      return value;
    },
  };
}
