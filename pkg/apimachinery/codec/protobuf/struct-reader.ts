/** Decodes the fields of messages into objects. The first message of a type compiles the type's reader. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { complete, isInsignificant, type JsonObject, zeroElement } from '#apimachinery/codec/json/walk.js';
import type { Reader } from '#apimachinery/codec/protobuf/reader.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Reads a value at the reader's position. `previous` is the result of an earlier occurrence of the field. */
export type ReadValue = (reader: Reader, previous: unknown) => unknown;

/** The reader of a single value and its wire type. */
export interface ValueReader {
  readonly wireType: number;
  readonly read: ReadValue;
}

/** Returns the reader of a field's value, its list elements or its map values. */
export type ValueReaders = (field: FieldInfo) => ValueReader;

interface FieldReader {
  readonly field: FieldInfo;
  readonly name: string;
  /** The key before it on the wire. */
  readonly key: number;
  readonly read: ReadValue;
  /** Reads the packed form of numeric lists. */
  readonly readPacked: ReadValue | undefined;
  /** Zero values (a zero scalar, an empty list) count as absent. */
  readonly dropsZero: boolean;
  /** Every object of the type has this member. */
  readonly isAlways: boolean;
  /** The reader of an inline message, whose members belong to the outer object. */
  readonly inline: StructReader | undefined;
}

/** A number that no field has. */
const beyond = 2 ** 30;

export class StructReader {
  readonly type: TypeInfo;
  readonly #values: ValueReaders;
  /** By number. Created on first use, because types may be recursive. */
  #fields: readonly (FieldReader | undefined)[] | undefined;
  #always = 0;

  constructor(type: TypeInfo, values: ValueReaders) {
    this.type = type;
    this.#values = values;
  }

  /** Decodes the object between the reader's position and its end into `previous`, or into a new object. */
  readonly read: ReadValue = (reader, previous) => {
    if (previous === undefined) return this.fill(reader, {});
    const object = previous as JsonObject;
    this.#readFields(reader, object, false);
    complete(this.type, object);
    return object;
  };

  /** Decodes the rest of the message into an object that has none of the type's fields yet. */
  fill(reader: Reader, object: JsonObject): JsonObject {
    const always = this.#readFields(reader, object, true);
    if (always < this.#always || this.type.isList) complete(this.type, object);
    return object;
  }

  /** Decodes the rest of the message by field number, for types whose JSON is not an object of their fields. */
  parts(reader: Reader): Map<number, unknown> {
    const fields = this.#compiled();
    const parts = new Map<number, unknown>();
    while (reader.at < reader.end) {
      const key = reader.uint32();
      const number = key >>> 3;
      const field = fields[number];
      if (field === undefined) reader.skip(key & 7);
      else parts.set(number, readField(reader, field, key, parts.get(number)));
    }
    return parts;
  }

  /** `isNew`: the object has none of the fields yet. Returns the number of always-present members that it added. */
  #readFields(reader: Reader, object: JsonObject, isNew: boolean): number {
    const fields = this.#compiled();
    // All known encoders write fields in ascending order. Looking up absent members is slow.
    let highest = isNew ? 0 : beyond;
    let lastNumber = 0;
    let last: unknown;
    let always = 0;
    while (reader.at < reader.end) {
      const key = reader.uint32();
      const number = key >>> 3;
      const field = number < fields.length ? fields[number] : undefined;
      if (field === undefined) {
        reader.skip(key & 7);
        continue;
      }
      const isFirst = number > highest;
      if (field.inline !== undefined) {
        if (key !== field.key) throw wrongWireType(field, key);
        const outer = reader.enterMessage();
        always += field.inline.#readFields(reader, object, isFirst);
        reader.leaveMessage(outer);
      } else {
        const previous = isFirst ? undefined : number === lastNumber ? last : object[field.name];
        last = readField(reader, field, key, previous);
        // A growing list or map is already in place.
        if (last !== previous || isFirst) put(object, field, last, isFirst);
        if (isFirst && field.isAlways) always++;
        lastNumber = number;
      }
      if (isFirst) highest = number;
    }
    return always;
  }

  #compiled(): readonly (FieldReader | undefined)[] {
    if (this.#fields !== undefined) return this.#fields;
    const { type } = this;
    const fields: (FieldReader | undefined)[] = new Array((type.fields.at(-1)?.number ?? 0) + 1).fill(undefined);
    for (const field of type.fields) fields[field.number] = this.#field(field);
    this.#always = type.always?.length ?? 0;
    this.#fields = fields;
    return fields;
  }

  #field(field: FieldInfo): FieldReader {
    const { name, number, container } = field;
    const value = this.#values(field);
    const key = tag(number, container === 'map' ? wire.delimited : value.wireType);
    const read =
      container === 'single' ? value.read : container === 'list' ? listReader(key, value) : mapReader(field, value);
    const isPackable = container === 'list' && value.wireType !== wire.delimited;
    return {
      field,
      name,
      key,
      read: field.type?.name === managerType ? unlessWithoutManagers(read) : read,
      readPacked: isPackable ? packedReader(value) : undefined,
      dropsZero: container !== 'map' && isInsignificant(field, container === 'list' ? [] : 0),
      isAlways: this.type.always?.includes(field) ?? false,
      inline: field.inline && field.type !== undefined ? new StructReader(field.type, this.#values) : undefined,
    };
  }
}

const managerType = 'meta.v1.ManagedFieldsEntry';

function unlessWithoutManagers(read: ReadValue): ReadValue {
  return (reader, previous) => {
    if (!reader.withoutManagers) return read(reader, previous);
    reader.skip(wire.delimited);
    return undefined;
  };
}

/** A field's value after this occurrence. */
function readField(reader: Reader, field: FieldReader, key: number, previous: unknown): unknown {
  if (key === field.key) return field.read(reader, previous);
  if (field.readPacked !== undefined && (key & 7) === wire.delimited) return field.readPacked(reader, previous);
  throw wrongWireType(field, key);
}

function put(object: JsonObject, { name, dropsZero }: FieldReader, value: unknown, isFirst: boolean): void {
  if (value !== undefined && !(dropsZero && isZero(value))) object[name] = value;
  else if (!isFirst && object[name] !== undefined) delete object[name];
}

function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false || (Array.isArray(value) && value.length === 0);
}

/** Allocates exact list sizes: a list that grows by pushing reserves extra room. */
function listReader(key: number, { read }: ValueReader): ReadValue {
  return (reader, previous) => {
    const first = read(reader, undefined) ?? null;
    if (previous !== undefined) {
      (previous as unknown[]).push(first);
      return previous;
    }
    if (!reader.passes(key)) return [first];
    const list = [first, read(reader, undefined) ?? null];
    while (reader.passes(key)) list.push(read(reader, undefined) ?? null);
    return list.length === 2 ? list : list.slice();
  };
}

function packedReader({ read }: ValueReader): ReadValue {
  return (reader, previous) => {
    const list = (previous as unknown[] | undefined) ?? [];
    const outer = reader.enter();
    while (reader.at < reader.end) list.push(read(reader, undefined));
    reader.leave(outer);
    return list;
  };
}

/** Reads one entry of a map. */
function mapReader(field: FieldInfo, { wireType, read }: ValueReader): ReadValue {
  const keyKey = tag(1, wire.delimited);
  const valueKey = tag(2, wireType);
  const readEntry = (reader: Reader, map: JsonObject): void => {
    const outer = reader.enter();
    let name = '';
    let value: unknown;
    while (reader.at < reader.end) {
      const key = reader.uint32();
      if (key === keyKey) name = reader.string();
      else if (key === valueKey) value = read(reader, value);
      else if (key >>> 3 === 1 || key >>> 3 === 2) throw wrongWireType({ field }, key);
      else reader.skip(key & 7);
    }
    reader.leave(outer);
    value ??= zeroElement(field);
    // An assignment to that name would set the prototype.
    if (name === '__proto__') {
      Object.defineProperty(map, name, { value, enumerable: true, writable: true, configurable: true });
    } else map[name] = value;
  };
  const isPlain = field.scalar !== undefined;
  return (reader, previous) => {
    const map = (previous as JsonObject | undefined) ?? {};
    reader.count();
    const { late } = reader;
    // Decodes the first entries immediately; most maps have no more.
    if (late !== undefined && isPlain && reader.parts > promptParts) reader.postpone(late, (at) => readEntry(at, map));
    else readEntry(reader, map);
    return map;
  };
}

/** Number of messages and entries to decode before deferring the rest: more take milliseconds. */
const promptParts = 4000;

function wrongWireType({ field }: Pick<FieldReader, 'field'>, key: number): DecodeError {
  return new DecodeError(`proto: wrong wireType = ${key & 7} for field ${field.protoName}`);
}
