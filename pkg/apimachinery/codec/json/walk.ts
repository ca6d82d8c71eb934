/**
 * The one walk over parsed JSON that makes an object of the API out of it: types are checked, unknown members and
 * nulls dropped, quantities, times and durations brought into canonical form, members that say nothing (zero values of
 * fields that are left out when empty) dropped, and members that are always there added, so that the same object always
 * has the same form: that of 1.24, but for nulls.
 */

import { canonicalBase64 } from '#apimachinery/codec/json/base64.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { canonicalMicroTime, canonicalTime, timeFault } from '#apimachinery/codec/json/times.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { formatDurationNanos, parseDurationNanos } from '#apimachinery/duration.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { int64Value, isInt64, isUint64 } from '#apimachinery/int64.js';
import { NumberLiteral } from '#apimachinery/json-text.js';
import { canonicalQuantity } from '#apimachinery/quantity.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, Prune, TypeInfo } from '#apimachinery/schema/type-info.js';

export type JsonObject = Record<string, unknown>;

/** Nesting of unknown members, of raw values and of schemas inside schemas; deeper input is refused. */
export const maxDepth = 500;

export class JsonWalk {
  /** Paths of members that no field describes, undefined when nobody asks. */
  readonly unknown: string[] | undefined;
  readonly #limit: number;
  readonly #keepZeros: boolean;
  /** What becomes of null. */
  readonly #null: null | undefined;
  readonly #canonical: ReadonlySet<unknown> | undefined;
  /** Names and indexes from the root to what is looked at. */
  readonly #path: (string | number)[] = [];
  #root: TypeInfo | undefined;
  /** The message that the innermost named member belongs to. */
  #owner: TypeInfo | undefined;

  /**
   * `limit`: how many unknown members are collected at most. `keepZeros`: members that say nothing stay, null too, and
   * none are added. `canonical`: values of members that a walk at the same place has left behind, which are passed over.
   */
  constructor(options: {
    collectUnknown: boolean;
    limit: number;
    keepZeros?: boolean;
    canonical?: ReadonlySet<unknown> | undefined;
  }) {
    this.unknown = options.collectUnknown ? [] : undefined;
    this.#limit = options.limit;
    this.#keepZeros = options.keepZeros ?? false;
    this.#null = this.#keepZeros ? null : undefined;
    this.#canonical = options.canonical;
  }

  /** The value as an object of the type. May change and keep parts of `value`. Throws a DecodeError. */
  root(type: TypeInfo, value: unknown): unknown {
    this.#root = type;
    return this.#message(type, value);
  }

  /** A message's value; undefined when it says nothing (the zero time). */
  #message(type: TypeInfo, value: unknown): unknown {
    switch (type.shape) {
      case 'struct':
        return this.#struct(type, value);
      case 'time':
        return this.#time(value, canonicalTime, '2006-01-02T15:04:05Z07:00');
      case 'microTime':
        return this.#time(value, canonicalMicroTime, '2006-01-02T15:04:05.000000Z07:00');
      case 'quantity':
        if (typeof value === 'string') return reword(canonicalQuantity, value.trim());
        if (typeof value === 'number' || typeof value === 'bigint') return reword(canonicalQuantity, String(value));
        if (value instanceof NumberLiteral) return reword(canonicalQuantity, value.text);
        // Its own decoder reads the JSON, which is no quantity.
        return reword(canonicalQuantity, JSON.stringify(typeof value));
      case 'duration':
        if (typeof value !== 'string') throw this.#mismatch(value, 'string');
        return reword(canonicalDuration, value);
      case 'intOrString':
        if (typeof value === 'string' || isInt32(value)) return value;
        throw this.#mismatch(value, 'int32');
      case 'rawJSON':
        if (value instanceof NumberLiteral) return doubleOr64Bits(value);
        checkDepth(value, maxDepth - this.#path.length);
        return value;
      case 'bareList':
        return this.#list(type.fields[0], value, `${type.goName}`);
      case 'schemaOrArray':
        if (Array.isArray(value)) return this.#list(type.fields[1], value, type.goName);
        // Its decoder reads over what is neither, which nothing is kept of.
        return isJsonObject(value) ? this.#part(type, 0, value) : undefined;
      case 'schemaOrBool':
        if (typeof value === 'boolean') return value;
        if (!isJsonObject(value)) throw new DecodeError('boolean or JSON schema expected');
        return this.#part(type, 1, value);
      case 'schemaOrStringArray':
        if (Array.isArray(value)) return this.#list(type.fields[1], value, type.goName);
        return isJsonObject(value) ? this.#part(type, 0, value) : {};
    }
  }

  #part(type: TypeInfo, index: number, value: unknown): unknown {
    const schema = type.fields[index]?.type;
    if (schema === undefined) throw this.#mismatch(value, type.goName);
    return this.#struct(schema, value);
  }

  #struct(type: TypeInfo, value: unknown): JsonObject {
    if (!isJsonObject(value)) throw this.#mismatch(value, type.goName);
    if (this.#path.length > maxDepth) throw new DecodeError('exceeded max depth');
    const object = value;
    if (type.prune !== undefined) return this.#custom(type, type.prune, object);
    const outer = this.#owner;
    let dropped = false;
    for (const key in object) {
      const member = object[key];
      if (this.#canonical?.has(member) === true) continue;
      const field = type.byName.get(key);
      this.#owner = type;
      this.#path.push(key);
      const next =
        field === undefined
          ? this.#undeclared(type, key, member)
          : member === null
            ? this.#null
            : this.#field(field, member);
      this.#path.pop();
      if (next === member) continue;
      object[key] = next;
      if (next === undefined) dropped = true;
    }
    this.#owner = outer;
    const result = dropped ? withoutUndefined(object) : object;
    if (!this.#keepZeros) complete(type, result);
    return result;
  }

  /** An object of a custom kind: only what every object has is brought into form. */
  #custom(type: TypeInfo, prune: Prune, object: JsonObject): JsonObject {
    this.#owner = type;
    for (const key of Object.keys(object)) {
      const member = object[key];
      this.#path.push(key);
      if (key === 'apiVersion' || key === 'kind') object[key] = this.#undeclared(type, key, member);
      else if (key === 'metadata') {
        // Custom objects are read as values before their metadata are: `1.0` is as good as 1.
        checkDepth(member, maxDepth - 1);
        const field = type.byName.get(key);
        object[key] = member === null || field === undefined ? undefined : this.#metadata(field, member);
      } else if (member instanceof NumberLiteral) object[key] = doubleOr64Bits(member);
      else checkDepth(member, maxDepth - 1);
      this.#path.pop();
    }
    const result = withoutUndefined(object);
    // A configuration that is applied says what is wanted, so that nothing of it goes before it is merged.
    if (this.#keepZeros) return result;
    result['metadata'] ??= {};
    prune(result, (path) => {
      if (this.unknown !== undefined && this.unknown.length < this.#limit) this.unknown.push(path);
    });
    return result;
  }

  /**
   * Of an object of a custom kind, as 1.24 reads them: by themselves, and what they do not know goes without a word. An
   * applied configuration is held to what is declared.
   */
  #metadata(field: FieldInfo, value: unknown): unknown {
    if (this.#keepZeros || field.type === undefined) return this.#field(field, value);
    const walk = new JsonWalk({ collectUnknown: false, limit: 0, canonical: this.#canonical });
    if (this.#canonical?.has(value) === true) return value;
    return walk.root(field.type, value);
  }

  #undeclared(type: TypeInfo, key: string, member: unknown): unknown {
    if (type.isKind && (key === 'apiVersion' || key === 'kind')) {
      if (typeof member === 'string') return member === '' ? undefined : member;
      if (member === null) return undefined;
      throw this.#mismatch(member, 'string');
    }
    if (member instanceof NumberLiteral && type.preserveUnknown) return doubleOr64Bits(member);
    // Also of what is dropped: deep input is refused wherever it stands.
    checkDepth(member, maxDepth - this.#path.length);
    if (type.preserveUnknown) return member;
    if (this.unknown !== undefined && this.unknown.length < this.#limit) this.unknown.push(this.#pathText());
    return undefined;
  }

  /** A member's value, undefined when it says nothing. */
  #field(field: FieldInfo, value: unknown): unknown {
    if (field.container === 'map') return this.#map(field, value);
    if (field.container === 'list') return this.#unlessSilent(field, this.#list(field, value));
    if (field.scalar !== undefined) return this.#unlessSilent(field, this.#scalar(field.scalar, value, field.goType));
    return this.#unlessSilent(field, field.type === undefined ? value : this.#message(field.type, value));
  }

  #unlessSilent(field: FieldInfo, result: unknown): unknown {
    if (this.#keepZeros) return result;
    // An empty list of managers says something: all of them are to be forgotten.
    if (field.name === 'managedFields' && Array.isArray(result)) return result;
    return saysNothing(field, result) && !(field.keepsEmpty === true && result !== undefined) ? undefined : result;
  }

  #list(field: FieldInfo | undefined, value: unknown, goName?: string): unknown[] {
    if (field === undefined || !Array.isArray(value)) {
      throw this.#mismatch(value, goName ?? (field === undefined ? '' : listName(field)));
    }
    for (let i = 0; i < value.length; i++) {
      const element: unknown = value[i];
      // Nothing to be done, and there may be hundreds of thousands.
      if (typeof element === 'string' && field.scalar === 'string') continue;
      this.#path.push(i);
      const next = this.#element(field, element);
      this.#path.pop();
      if (next !== element) value[i] = next;
    }
    return value;
  }

  /** Undefined where it is empty and that says nothing. */
  #map(field: FieldInfo, value: unknown): unknown {
    if (!isJsonObject(value)) throw this.#mismatch(value, field.goType ?? `map[string]${elementName(field)}`);
    const map = value;
    const keys = Object.keys(map);
    // To ask a map of many entries whether it is empty takes as long as to read it.
    if (keys.length === 0) return this.#unlessSilent(field, map);
    for (const key of keys) {
      const element = map[key];
      if (typeof element === 'string' && field.scalar === 'string') continue;
      this.#path.push(key);
      const next = this.#element(field, element);
      this.#path.pop();
      if (next !== element) setMember(map, key, next);
    }
    return map;
  }

  #element(field: FieldInfo, element: unknown): unknown {
    if (element === null && field.type?.shape !== 'rawJSON') return zeroElement(field);
    if (field.scalar !== undefined)
      return this.#scalar(field.scalar, element, field.container === 'map' ? undefined : field.goType);
    return field.type === undefined ? element : (this.#message(field.type, element) ?? null);
  }

  #scalar(scalar: Scalar, value: unknown, goType = goScalar(scalar)): unknown {
    switch (scalar) {
      case 'string':
        if (typeof value === 'string') return value;
        break;
      case 'bool':
        if (typeof value === 'boolean') return value;
        break;
      case 'bytes':
        if (typeof value === 'string') return canonicalBase64(value);
        break;
      case 'double':
      case 'float':
        if (Number.isFinite(value)) return value;
        if (value instanceof NumberLiteral && Number.isFinite(Number(value.text))) return Number(value.text);
        if (typeof value === 'bigint') return Number(value);
        break;
      case 'int32':
        if (isInt32(value)) return value;
        break;
      case 'uint32':
        if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32) return value;
        break;
      case 'int64': {
        if (Number.isSafeInteger(value)) return value;
        const integer = integerOf(value);
        if (integer !== undefined && isInt64(integer)) return int64Value(integer);
        break;
      }
      case 'uint64': {
        if (Number.isSafeInteger(value) && (value as number) >= 0) return value;
        const integer = integerOf(value);
        if (integer !== undefined && isUint64(integer)) return int64Value(integer);
        break;
      }
    }
    throw this.#mismatch(value, goType);
  }

  #time(value: unknown, canonical: (text: string) => string | null | undefined, layout: string): string | undefined {
    if (typeof value !== 'string') throw this.#mismatch(value, 'string');
    const text = canonical(value);
    if (text === undefined) {
      throw new DecodeError(timeFault(value, layout));
    }
    return text ?? undefined;
  }

  #pathText(): string {
    let text = '';
    for (const part of this.#path) {
      if (typeof part === 'number') text += `[${part}]`;
      else text += text === '' ? part : `.${part}`;
    }
    return text;
  }

  /** The fields of the path, as Go tells them: without indexes and without keys of maps. */
  #fieldNames(): string[] {
    const names: string[] = [];
    let type = this.#root;
    let keyFollows = false;
    for (const part of this.#path) {
      if (typeof part === 'number') continue;
      if (keyFollows) {
        keyFollows = false;
        continue;
      }
      names.push(part);
      const field = type?.byName.get(part);
      keyFollows = field?.container === 'map';
      type = field?.type;
      // What is below has a decoder of its own, of which Go forgets the place.
      if (type?.shape === 'schemaOrArray' || type?.shape === 'schemaOrBool' || type?.shape === 'schemaOrStringArray')
        break;
    }
    return names;
  }

  /** In the words of Go's encoding/json. */
  #mismatch(value: unknown, goType: string): DecodeError {
    const names = this.#fieldNames();
    const into =
      this.#owner === undefined || names.length === 0
        ? 'Go value'
        : `Go struct field ${this.#owner.shortName}.${names.join('.')}`;
    const shown = /^(?:u?int|float)/.test(goType) ? numberName(value) : jsonName(value);
    return new DecodeError(`json: cannot unmarshal ${shown} into ${into} of type ${goType}`);
  }
}

const canonicalDuration = (text: string): string => formatDurationNanos(parseDurationNanos(text));

/** With its argument apart: a closure over it would cost every value that comes by, of whatever type. */
function reword(canonical: (text: string) => string, text: string): string {
  try {
    return canonical(text);
  } catch (error) {
    throw new DecodeError(messageOf(error), { cause: error });
  }
}

/** True for an object of JSON: a number that the parser keeps as it was written is none. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberLiteral);
}

function isInt32(value: unknown): boolean {
  return typeof value === 'number' && (value | 0) === value;
}

function doubleOr64Bits(literal: NumberLiteral): number | bigint {
  const { value } = literal;
  if (Math.abs(Number(value)) < Number.POSITIVE_INFINITY) return value;
  throw new DecodeError(`json: cannot unmarshal number ${literal.text} into Go value of type float64`);
}

/** The integer that a value is without doubt: a double beyond 2^53 is what was read as one. */
function integerOf(value: unknown): bigint | undefined {
  if (value instanceof NumberLiteral) return value.integer;
  if (typeof value === 'bigint') return value;
  return Number.isInteger(value) ? BigInt(value as number) : undefined;
}

/** Numbers are named with what they are only where the field has numbers, too. */
function numberName(value: unknown): string {
  if (value instanceof NumberLiteral) return `number ${value.text}`;
  return typeof value === 'number' || typeof value === 'bigint' ? `number ${value}` : jsonName(value);
}

function goScalar(scalar: Scalar): string {
  if (scalar === 'bytes') return '[]uint8';
  if (scalar === 'double') return 'float64';
  return scalar === 'float' ? 'float32' : scalar;
}

function elementName(field: FieldInfo): string {
  return field.type?.goName ?? field.goType ?? goScalar(field.scalar ?? 'string');
}

/** Of lists of messages, a type that is named is that of the list. */
function listName(field: FieldInfo): string {
  return (field.type && field.goType) ?? `[]${elementName(field)}`;
}

/** The zero of a field's value, or of its elements: also what a null among these becomes. */
export function zeroElement(field: FieldInfo): unknown {
  if (field.type === undefined) {
    return field.scalar === 'string' || field.scalar === 'bytes' ? '' : field.scalar === 'bool' ? false : 0;
  }
  switch (field.type.shape) {
    case 'struct': {
      const object: JsonObject = {};
      complete(field.type, object);
      return object;
    }
    case 'bareList':
      return [];
    case 'quantity':
      return '0';
    case 'duration':
      return '0s';
    case 'intOrString':
      return 0;
    default:
      return null;
  }
}

/**
 * True for a value that says nothing because its field may be absent and cannot tell zero from absent: the same value
 * is on the wire either way.
 */
export function saysNothing(field: FieldInfo, value: unknown): boolean {
  if ((!field.omitempty && !field.optional) || field.pointer) return false;
  if (value === undefined) return true;
  // An empty list that is never left out is told from null until it is stored.
  if (field.container !== 'single' && !field.omitempty) return false;
  if (field.container === 'single') {
    // Scalars that are never left out are always there, and so are messages.
    return field.omitempty && field.type === undefined && (value === '' || value === 0 || value === false);
  }
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value as object) return false;
  return true;
}

function withoutUndefined(object: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const key in object) if (object[key] !== undefined && key !== '__proto__') result[key] = object[key];
  return result;
}

/** Adds, in place, what every object of the type has (`TypeInfo.always`); a list always has its items. */
export function complete(type: TypeInfo, object: JsonObject): void {
  for (const field of type.always ?? []) object[field.name] ??= zeroElement(field);
  if (type.isList) object.items ??= [];
}

/**
 * Throws a DecodeError for a value nested deeper than `left`, and for numbers too large for JSON's writers. NumberLiterals in it
 * become their values.
 */
export function checkDepth(value: unknown, left: number): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new DecodeError('json: cannot unmarshal number into Go value of type float64');
  }
  if (typeof value !== 'object' || value === null || value instanceof NumberLiteral) return;
  if (left <= 0) throw new DecodeError('exceeded max depth');
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const element: unknown = value[i];
      if (element instanceof NumberLiteral) value[i] = doubleOr64Bits(element);
      else checkDepth(element, left - 1);
    }
    return;
  }
  for (const key of Object.keys(value)) {
    const member = (value as JsonObject)[key];
    if (member instanceof NumberLiteral) setMember(value as JsonObject, key, doubleOr64Bits(member));
    else checkDepth(member, left - 1);
  }
}
