/**
 * Converts parsed JSON into an API object in one walk. It checks types, drops unknown members and nulls, canonicalizes
 * quantities, times and durations, drops insignificant members (zero values with omitempty) and adds members that are
 * always present. Equal objects thus have the same form: that of 1.24, except for nulls.
 */

import { canonicalBase64 } from '#apimachinery/codec/json/base64.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { canonicalMicroTime, canonicalTime, timeFault } from '#apimachinery/codec/json/timestamps.js';
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

/** Maximum nesting of unknown members, raw values and recursive schemas. */
export const maxDepth = 500;

export class JsonWalk {
  /** Paths of undeclared members; undefined if they are not collected. */
  readonly unknown: string[] | undefined;
  readonly #limit: number;
  readonly #keepZeros: boolean;
  /** The replacement of null. */
  readonly #null: null | undefined;
  readonly #canonical: ReadonlySet<unknown> | undefined;
  /** Names and indexes from the root to the current value. */
  readonly #path: (string | number)[] = [];
  #root: TypeInfo | undefined;
  /** The message that contains the innermost named member. */
  #owner: TypeInfo | undefined;

  /**
   * `limit`: maximum number of collected unknown members. `keepZeros`: keeps insignificant members and nulls, and adds
   * no members. `canonical`: member values from an earlier walk, which are skipped.
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

  /** The value as an object of the type. May modify `value` and share its parts. Throws a DecodeError. */
  root(type: TypeInfo, value: unknown): unknown {
    this.#root = type;
    return this.#message(type, value);
  }

  /** A message's value; undefined if insignificant (the zero time). */
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
        // The quantity decoder receives the JSON and rejects it.
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
        // The decoder of 1.24 silently ignores other values.
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

  /** A custom object: canonicalizes only the parts common to all objects. */
  #custom(type: TypeInfo, prune: Prune, object: JsonObject): JsonObject {
    this.#owner = type;
    for (const key of Object.keys(object)) {
      const member = object[key];
      this.#path.push(key);
      if (key === 'apiVersion' || key === 'kind') object[key] = this.#undeclared(type, key, member);
      else if (key === 'metadata') {
        // 1.24 reads custom objects as plain values before their metadata, so `1.0` is as good as 1.
        checkDepth(member, maxDepth - 1);
        const field = type.byName.get(key);
        object[key] = member === null || field === undefined ? undefined : this.#metadata(field, member);
      } else if (member instanceof NumberLiteral) object[key] = doubleOr64Bits(member);
      else checkDepth(member, maxDepth - 1);
      this.#path.pop();
    }
    const result = withoutUndefined(object);
    // An applied configuration must stay complete until it is merged.
    if (this.#keepZeros) return result;
    result['metadata'] ??= {};
    prune(result, (path) => {
      if (this.unknown !== undefined && this.unknown.length < this.#limit) this.unknown.push(path);
    });
    return result;
  }

  /**
   * Metadata of a custom object: 1.24 decodes it separately and silently drops unknown members. An applied
   * configuration is checked against the declaration.
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
    // Checks dropped members too: deep nesting is refused anywhere.
    checkDepth(member, maxDepth - this.#path.length);
    if (type.preserveUnknown) return member;
    if (this.unknown !== undefined && this.unknown.length < this.#limit) this.unknown.push(this.#pathText());
    return undefined;
  }

  /** A member's value; undefined if insignificant. */
  #field(field: FieldInfo, value: unknown): unknown {
    if (field.container === 'map') return this.#map(field, value);
    if (field.container === 'list') return this.#unlessInsignificant(field, this.#list(field, value));
    if (field.scalar !== undefined)
      return this.#unlessInsignificant(field, this.#scalar(field.scalar, value, field.goType));
    return this.#unlessInsignificant(field, field.type === undefined ? value : this.#message(field.type, value));
  }

  #unlessInsignificant(field: FieldInfo, result: unknown): unknown {
    if (this.#keepZeros) return result;
    // An empty managedFields list is significant: it drops all managers.
    if (field.name === 'managedFields' && Array.isArray(result)) return result;
    return isInsignificant(field, result) && !(field.keepsEmpty === true && result !== undefined) ? undefined : result;
  }

  #list(field: FieldInfo | undefined, value: unknown, goName?: string): unknown[] {
    if (field === undefined || !Array.isArray(value)) {
      throw this.#mismatch(value, goName ?? (field === undefined ? '' : listName(field)));
    }
    for (let i = 0; i < value.length; i++) {
      const element: unknown = value[i];
      // Fast path, because a list may have hundreds of thousands of strings.
      if (typeof element === 'string' && field.scalar === 'string') continue;
      this.#path.push(i);
      const next = this.#element(field, element);
      this.#path.pop();
      if (next !== element) value[i] = next;
    }
    return value;
  }

  /** Undefined if empty and insignificant. */
  #map(field: FieldInfo, value: unknown): unknown {
    if (!isJsonObject(value)) throw this.#mismatch(value, field.goType ?? `map[string]${elementName(field)}`);
    const map = value;
    const keys = Object.keys(map);
    // Asking a large map whether it is empty costs as much as iterating over it.
    if (keys.length === 0) return this.#unlessInsignificant(field, map);
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

  /** The field path in Go's errors: without indexes and map keys. */
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
      // Values below have their own decoder, and Go forgets the path there.
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

/** Takes its argument separately: a closure would be allocated for every value. */
function reword(canonical: (text: string) => string, text: string): string {
  try {
    return canonical(text);
  } catch (error) {
    throw new DecodeError(messageOf(error), { cause: error });
  }
}

/** True for a JSON object; a NumberLiteral is not one. */
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

/** The exact integer of a value; a double beyond 2^53 is not exact. */
function integerOf(value: unknown): bigint | undefined {
  if (value instanceof NumberLiteral) return value.integer;
  if (typeof value === 'bigint') return value;
  return Number.isInteger(value) ? BigInt(value as number) : undefined;
}

/** Messages include the number itself only if the field is numeric. */
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

/** For lists of messages, a named Go type names the list. */
function listName(field: FieldInfo): string {
  return (field.type && field.goType) ?? `[]${elementName(field)}`;
}

/** The zero value of a field or its elements, which also replaces null elements. */
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

/** True if the field may be absent and its value is zero, which the encoding does not distinguish from absent. */
export function isInsignificant(field: FieldInfo, value: unknown): boolean {
  if ((!field.omitempty && !field.optional) || field.pointer) return false;
  if (value === undefined) return true;
  // An empty list without omitempty remains distinct from null until it is stored.
  if (field.container !== 'single' && !field.omitempty) return false;
  if (field.container === 'single') {
    // Scalars and messages without omitempty are always present.
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

/** Adds missing members that must be present (`TypeInfo.always`), in place; a list always has its items. */
export function complete(type: TypeInfo, object: JsonObject): void {
  for (const field of type.always ?? []) object[field.name] ??= zeroElement(field);
  if (type.isList) object.items ??= [];
}

/** Throws a DecodeError for nesting beyond `left` and for infinite numbers. Replaces NumberLiterals by their values. */
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
