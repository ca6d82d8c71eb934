/**
 * CEL values of objects, converted on access. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/values.go.
 */

import { saysAllOfObject } from '#api/apiextensions/v1/expressions/declared-type.js';
import { escapeName, unescapeName } from '#api/apiextensions/v1/expressions/escaping.js';
import { parseFormatDuration, parseFormatTime } from '#api/apiextensions/v1/expressions/formats.js';
import { isMembers, type Structural } from '#api/apiextensions/v1/structural/structural.js';
import {
  CelFailure,
  CelList,
  CelMap,
  equal,
  noSuchOverload,
  Opaque,
  type Value,
  type Work,
} from '#apimachinery/cel/values.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { int64Value } from '#apimachinery/int64.js';
import { toJSONText } from '#apimachinery/json-text.js';

type Members = Record<string, unknown>;

/** `isRoot`: an API object. */
export function celValueOf(json: unknown, schema: Structural, isRoot: boolean): Value {
  if (json === null || json === undefined) {
    return schema.nullable ? null : new CelFailure('invalid data, got null for schema with nullable=false');
  }
  if (schema.intOrString) {
    if (typeof json === 'string') return json;
    if (isWhole(json)) return BigInt(json);
    return new CelFailure('invalid data, expected XIntOrString value to be either a string or integer');
  }
  switch (schema.type) {
    case 'object':
      return objectOf(json, schema, isRoot || schema.isResource);
    case 'array':
      return listOf(json, schema);
    case 'string':
      return typeof json === 'string' ? textOf(json, schema) : unexpected('string', json);
    case 'number':
      return typeof json === 'number' || typeof json === 'bigint' ? Number(json) : unexpected('float', json);
    case 'integer':
      return isWhole(json) ? BigInt(json) : unexpected('int', json);
    case 'boolean':
      return typeof json === 'boolean' ? json : unexpected('bool', json);
    default:
      return schema.preservesUnknown ? new Unknown(json) : new CelFailure('invalid type');
  }
}

/** As in 1.24, a double beyond 2^53 is not an integer: that would be a bigint. */
function isWhole(json: unknown): json is number | bigint {
  return typeof json === 'bigint' || Number.isSafeInteger(json);
}

function unexpected(expected: string, json: unknown): CelFailure {
  return new CelFailure(`invalid data, expected ${expected}, got ${typeof json}`);
}

function textOf(text: string, { schema }: Structural): Value {
  switch (schema.format) {
    case 'duration':
      return parseFormatDuration(text) ?? new CelFailure(`Invalid duration ${text}`);
    case 'date':
      return parseFormatTime(text, true) ?? new CelFailure(`Invalid date formatted string ${text}`);
    case 'date-time':
      return parseFormatTime(text, false) ?? new CelFailure(`Invalid date-time formatted string ${text}`);
    case 'byte':
      return Buffer.from(text, 'base64');
    default:
      return text;
  }
}

/** A value preserved without schema. */
class Unknown extends Opaque {
  readonly #json: unknown;

  constructor(json: unknown) {
    super();
    this.#json = json;
  }

  equals(other: Value): Value {
    return other instanceof Unknown && semanticEqual(this.#json, other.#json);
  }
}

function objectOf(json: unknown, schema: Structural, isRoot: boolean): Value {
  if (!isMembers(json)) return new CelFailure('invalid data, expected a map for the provided schema with type=object');
  if (isRoot || schema.schema.properties !== undefined) return new SchemaObject(json, schema, isRoot);
  const { additional } = schema;
  if (typeof additional === 'object') return new SchemaMap(json, additional);
  if (schema.preservesUnknown) return new SchemaObject(json, schema, false);
  return new CelFailure('invalid object type');
}

const noProperties: Members = {};

/** An object with properties. Null members count as absent. */
class SchemaObject extends CelMap {
  readonly #members: Members;
  readonly #schema: Structural;
  readonly #isRoot: boolean;

  constructor(members: Members, schema: Structural, isRoot: boolean) {
    super();
    this.#members = members;
    this.#schema = schema;
    this.#isRoot = isRoot && !saysAllOfObject(schema);
  }

  get size(): number {
    return Object.keys(this.#members).length;
  }

  #memberValue(name: string, json: unknown): Value | undefined {
    if (this.#isRoot && (name === 'kind' || name === 'apiVersion')) return typeof json === 'string' ? json : null;
    if (this.#isRoot && name === 'metadata') return new ObjectMeta(isMembers(json) ? json : noProperties);
    const property = this.#schema.properties.get(name);
    return property === undefined ? undefined : celValueOf(json, property, false);
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return noSuchOverload();
    const name = unescapeName(key);
    return name === undefined ? undefined : this.#named(name);
  }

  #named(name: string): Value | undefined {
    const json = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
    return json === undefined || json === null ? undefined : this.#memberValue(name, json);
  }

  keys(): readonly Value[] {
    const isKnown = (name: string) => this.#memberValue(name, this.#members[name]) !== undefined;
    return Object.keys(this.#members)
      .filter(isKnown)
      .map((name) => escapeName(name) ?? name);
  }

  equals(other: Value, run: Work): Value {
    if (!(other instanceof CelMap)) return noSuchOverload();
    if (this.size !== other.size) return false;
    for (const [name, json] of Object.entries(this.#members)) {
      run.work(1);
      const value = this.#memberValue(name, json);
      if (value === undefined) {
        if (!(other instanceof SchemaObject)) return noSuchOverload();
        if (Object.hasOwn(other.#members, name) && !semanticEqual(json, other.#members[name])) return false;
        continue;
      }
      const otherValue = other.find(name);
      if (otherValue === undefined) return false;
      const same = equal(value, otherValue, run);
      if (same !== true) return same;
    }
    return true;
  }
}

/** Rules see only name and generateName of metadata. */
class ObjectMeta extends CelMap {
  readonly #members: Members;

  constructor(members: Members) {
    super();
    this.#members = members;
  }

  get size(): number {
    return Object.keys(this.#members).length;
  }

  find(key: Value): Value | undefined {
    if (key !== 'name' && key !== 'generateName') return typeof key === 'string' ? undefined : noSuchOverload();
    const value = this.#members[key];
    return typeof value === 'string' ? value : undefined;
  }

  keys(): readonly Value[] {
    return ['name', 'generateName'].filter((name) => typeof this.#members[name] === 'string');
  }

  equals(other: Value): Value {
    if (!(other instanceof ObjectMeta)) return noSuchOverload();
    return semanticEqual(this.#members, other.#members);
  }
}

class SchemaMap extends CelMap {
  readonly #members: Members;
  readonly #values: Structural;

  constructor(members: Members, values: Structural) {
    super();
    this.#members = members;
    this.#values = values;
  }

  get size(): number {
    return Object.keys(this.#members).length;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return noSuchOverload();
    return Object.hasOwn(this.#members, key) ? celValueOf(this.#members[key], this.#values, false) : undefined;
  }

  keys(): readonly Value[] {
    return Object.keys(this.#members);
  }

  equals(other: Value, run: Work): Value {
    if (!(other instanceof CelMap)) return noSuchOverload();
    if (this.size !== other.size) return false;
    for (const name of Object.keys(this.#members)) {
      run.work(1);
      const otherValue = other.find(name);
      if (otherValue === undefined) return false;
      const same = equal(this.find(name) ?? null, otherValue, run);
      if (same !== true) return same;
    }
    return true;
  }
}

function listOf(json: unknown, schema: Structural): Value {
  if (!Array.isArray(json))
    return new CelFailure('invalid data, expected an array for the provided schema with type=array');
  const { items, listMapKeys, listType } = schema;
  if (items === undefined) return new CelFailure('invalid array type, expected Items with a non-empty Schema');
  if (listType === 'set') return new SetList(json, items);
  return listType === 'map' ? new KeyedList(json, items, listMapKeys) : new SchemaList(json, items);
}

class SchemaList extends CelList {
  readonly json: readonly unknown[];
  readonly items: Structural;

  constructor(json: readonly unknown[], items: Structural) {
    super();
    this.json = json;
    this.items = items;
  }

  get size(): number {
    return this.json.length;
  }

  at(i: number): Value {
    return celValueOf(this.json[i], this.items, false);
  }

  override get(index: Value): Value {
    if (typeof index !== 'bigint') return new CelFailure(`unsupported index: ${String(index)}`);
    if (index < 0n || index >= BigInt(this.size)) return new CelFailure(`index out of bounds: ${index}`);
    return this.at(Number(index));
  }
}

/** A list with an index of its JSON elements by identity. */
abstract class Associative extends SchemaList {
  #byIdentity: Map<unknown, unknown> | undefined;

  /** Equal elements have the same identity, compared like Map keys. */
  protected abstract identityOf(json: unknown): unknown;

  protected get byIdentity(): ReadonlyMap<unknown, unknown> {
    this.#byIdentity ??= new Map(this.json.map((element) => [this.identityOf(element), element]));
    return this.#byIdentity;
  }

  /** The JSON elements of the other list. */
  protected jsonOf(other: CelList): readonly unknown[] {
    if (other instanceof SchemaList) return other.json;
    return Array.from({ length: other.size }, (_, i) => plainJson(other.at(i)));
  }
}

/** A set, unordered. All elements have one type, and most are scalars, which are their own identity. */
class SetList extends Associative {
  protected identityOf(json: unknown): unknown {
    return typeof json === 'object' && json !== null ? toJSONText(json) : json;
  }

  override equals(other: Value, run: Work): Value {
    if (!(other instanceof CelList)) return noSuchOverload();
    if (this.size !== other.size) return false;
    run.work(this.size * 2);
    return this.jsonOf(other).every((element) => this.byIdentity.has(this.identityOf(element)));
  }

  override add(other: Value, run: Work): Value {
    if (!(other instanceof CelList)) return noSuchOverload();
    run.work((this.size + other.size) * 2);
    const ownElements = this.byIdentity;
    const fresh = new Map<unknown, unknown>();
    for (const element of this.jsonOf(other)) {
      const identity = this.identityOf(element);
      if (!ownElements.has(identity) && !fresh.has(identity)) fresh.set(identity, element);
    }
    return new SetList([...this.json, ...fresh.values()], this.items);
  }
}

/** A list with key fields, unordered. */
class KeyedList extends Associative {
  readonly #keys: readonly string[];

  constructor(json: readonly unknown[], items: Structural, keys: readonly string[]) {
    super(json, items);
    this.#keys = keys;
  }

  protected identityOf(json: unknown): string {
    return toJSONText(isMembers(json) ? this.#keys.map((key) => json[key] ?? null) : null);
  }

  override equals(other: Value, run: Work): Value {
    if (!(other instanceof CelList)) return noSuchOverload();
    if (this.size !== other.size) return false;
    run.work(this.size * 2);
    for (const [i, element] of this.jsonOf(other).entries()) {
      const mine = this.byIdentity.get(this.identityOf(element));
      if (mine === undefined) return false;
      const same = equal(celValueOf(mine, this.items, false), other.at(i), run);
      if (same !== true) return same;
    }
    return true;
  }

  /** Elements of the other list replace those with equal keys in place. */
  override add(other: Value, run: Work): Value {
    if (!(other instanceof CelList)) return noSuchOverload();
    run.work((this.size + other.size) * 2);
    const merged = new Map(this.byIdentity);
    for (const element of this.jsonOf(other)) merged.set(this.identityOf(element), element);
    return new KeyedList([...merged.values()], this.items, this.#keys);
  }
}

/** Converts values created by expressions. */
function plainJson(value: Value): unknown {
  if (typeof value === 'bigint') return int64Value(value);
  if (value instanceof CelList) return Array.from({ length: value.size }, (_, i) => plainJson(value.at(i)));
  if (value instanceof CelMap) {
    return Object.fromEntries(value.keys().map((key) => [String(key), plainJson(value.find(key) ?? null)]));
  }
  return value;
}
