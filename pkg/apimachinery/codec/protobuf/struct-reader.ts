/**
 * Reads the fields of messages into objects. What reading a type takes is worked out once, from its fields, when the
 * first message of it comes.
 */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { complete, type JsonObject, saysNothing, zeroElement } from '#apimachinery/codec/json/walk.js';
import type { Reader } from '#apimachinery/codec/protobuf/reader.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Reads a value at the reader's position. `known` is what an earlier occurrence of the field gave. */
export type ReadValue = (reader: Reader, known: unknown) => unknown;

/** How one value is read, and how it is laid out on the wire. */
export interface ValueReader {
  readonly wireType: number;
  readonly read: ReadValue;
}

/** Gives the reader of a field's value, of its elements, or of its map's values. */
export type ValueReaders = (field: FieldInfo) => ValueReader;

interface FieldReader {
  readonly field: FieldInfo;
  readonly name: string;
  /** What stands in front of it. */
  readonly key: number;
  readonly read: ReadValue;
  /** The same in its packed form, for lists of numbers. */
  readonly readPacked: ReadValue | undefined;
  /** Zeros are as good as absent: a scalar's, or an empty list. */
  readonly dropsZero: boolean;
  /** One of those that every object of the type has. */
  readonly isAlways: boolean;
  /** Of an inline message, whose members are the object's own. */
  readonly inline: StructReader | undefined;
}

/** A number that no field has. */
const beyond = 2 ** 30;

export class StructReader {
  readonly type: TypeInfo;
  readonly #values: ValueReaders;
  /** By number. Made when first needed: types refer to each other in circles. */
  #fields: readonly (FieldReader | undefined)[] | undefined;
  #always = 0;

  constructor(type: TypeInfo, values: ValueReaders) {
    this.type = type;
    this.#values = values;
  }

  /** The object between the reader's position and its end: `known` with more in it, or a new one. */
  readonly read: ReadValue = (reader, known) => {
    if (known === undefined) return this.fill(reader, {});
    const object = known as JsonObject;
    this.#readFields(reader, object, false);
    complete(this.type, object);
    return object;
  };

  /** Adds what is between the reader's position and its end to an object that has none of the type's fields yet. */
  fill(reader: Reader, object: JsonObject): JsonObject {
    const always = this.#readFields(reader, object, true);
    if (always < this.#always || this.type.isList) complete(this.type, object);
    return object;
  }

  /** What is between the reader's position and its end by number of field, for types whose JSON is no object of them. */
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

  /** `isNew`: the object has none of the fields yet. Gives how many of those that are always there it has put in. */
  #readFields(reader: Reader, object: JsonObject, isNew: boolean): number {
    const fields = this.#compiled();
    // Fields come in ascending order from every encoder that is known. Looking up what is not there yet is slow.
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
        const known = isFirst ? undefined : number === lastNumber ? last : object[field.name];
        last = readField(reader, field, key, known);
        // The list or map that grows is in its place already.
        if (last !== known || isFirst) put(object, field, last, isFirst);
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
      dropsZero: container !== 'map' && saysNothing(field, container === 'list' ? [] : 0),
      isAlways: this.type.always?.includes(field) ?? false,
      inline: field.inline && field.type !== undefined ? new StructReader(field.type, this.#values) : undefined,
    };
  }
}

const managerType = 'meta.v1.ManagedFieldsEntry';

function unlessWithoutManagers(read: ReadValue): ReadValue {
  return (reader, known) => {
    if (!reader.withoutManagers) return read(reader, known);
    reader.skip(wire.delimited);
    return undefined;
  };
}

/** A field's value after this occurrence of it. */
function readField(reader: Reader, field: FieldReader, key: number, known: unknown): unknown {
  if (key === field.key) return field.read(reader, known);
  if (field.readPacked !== undefined && (key & 7) === wire.delimited) return field.readPacked(reader, known);
  throw wrongWireType(field, key);
}

function put(object: JsonObject, { name, dropsZero }: FieldReader, value: unknown, isFirst: boolean): void {
  if (value !== undefined && !(dropsZero && isZero(value))) object[name] = value;
  else if (!isFirst && object[name] !== undefined) delete object[name];
}

function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false || (Array.isArray(value) && value.length === 0);
}

/** A list takes what room it needs, and no more: what grows one by one keeps room for many. */
function listReader(key: number, { read }: ValueReader): ReadValue {
  return (reader, known) => {
    const first = read(reader, undefined) ?? null;
    if (known !== undefined) {
      (known as unknown[]).push(first);
      return known;
    }
    if (!reader.passes(key)) return [first];
    const list = [first, read(reader, undefined) ?? null];
    while (reader.passes(key)) list.push(read(reader, undefined) ?? null);
    return list.length === 2 ? list : list.slice();
  };
}

function packedReader({ read }: ValueReader): ReadValue {
  return (reader, known) => {
    const list = (known as unknown[] | undefined) ?? [];
    const outer = reader.enter();
    while (reader.at < reader.end) list.push(read(reader, undefined));
    reader.leave(outer);
    return list;
  };
}

/** One entry of a map. */
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
    // Assigning to that name would set the prototype instead.
    if (name === '__proto__') {
      Object.defineProperty(map, name, { value, enumerable: true, writable: true, configurable: true });
    } else map[name] = value;
  };
  const isPlain = field.scalar !== undefined;
  return (reader, known) => {
    const map = (known as JsonObject | undefined) ?? {};
    reader.count();
    const { late } = reader;
    // The first entries are read at once: most maps have no more.
    if (late !== undefined && isPlain && reader.parts > promptParts) reader.postpone(late, (at) => readEntry(at, map));
    else readEntry(reader, map);
    return map;
  };
}

/** Messages and entries that are read at once where the others are postponed: more take milliseconds. */
const promptParts = 4000;

function wrongWireType({ field }: Pick<FieldReader, 'field'>, key: number): DecodeError {
  return new DecodeError(`proto: wrong wireType = ${key & 7} for field ${field.protoName}`);
}
