/**
 * Values of the Common Expression Language (CEL): null, booleans, strings, bigints (int), numbers (double), Uint8Array
 * (bytes), and the classes below. Failures are values too, because a failed part may turn out to be irrelevant.
 */

export class CelFailure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Timestamp {
  /** Since the epoch. */
  readonly nanos: bigint;
  /** Minutes east of Greenwich, of the zone in its text. */
  readonly zoneMinutes: number;

  constructor(nanos: bigint, zoneMinutes = 0) {
    this.nanos = nanos;
    this.zoneMinutes = zoneMinutes;
  }
}

export class TypeName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** The parts as written; absent ones are empty. */
export class Url {
  readonly text: string;
  readonly scheme: string;
  /** With the port, and brackets around an IPv6 address. */
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(text: string, parts: Pick<Url, 'scheme' | 'host' | 'path' | 'query'>) {
    this.text = text;
    this.scheme = parts.scheme;
    this.host = parts.host;
    this.path = parts.path;
    this.query = parts.query;
  }
}

/** A value that supports only equality. */
export abstract class Opaque {
  abstract equals(other: Value, run: Work): Value;
}

/** Counts work that the language's cost model misses, and aborts excessive evaluations. */
export interface Work {
  /** Throws beyond the limit. */
  work(units: number): void;
}

export abstract class CelList {
  abstract readonly size: number;
  /** `i` is within the size. */
  abstract at(i: number): Value;

  /** The value at an index. */
  get(index: Value): Value {
    const place = placeOf(index);
    if (place instanceof CelFailure) return place;
    if (place >= 0 && place < this.size) return this.at(place);
    return new CelFailure(`index '${place}' out of range in list size '${this.size}'`);
  }

  equals(other: Value, run: Work): Value {
    if (!(other instanceof CelList)) return noSuchOverload();
    if (this.size !== other.size) return false;
    for (let i = 0; i < this.size; i++) {
      run.work(1);
      const same = equal(this.at(i), other.at(i), run);
      if (same !== true) return same;
    }
    return true;
  }

  add(other: Value, _run: Work): Value {
    if (!(other instanceof CelList)) return noSuchOverload();
    if (this.size === 0) return other;
    return other.size === 0 ? this : new JoinedList(this, other);
  }

  /** Whether an element equals the value. */
  contains(value: Value, run: Work): Value {
    let failure: CelFailure | undefined;
    for (let i = 0; i < this.size; i++) {
      run.work(1);
      const same = equal(this.at(i), value, run);
      if (same === true) return true;
      if (same instanceof CelFailure) failure ??= noSuchOverload();
    }
    return failure ?? false;
  }
}

export class PlainList extends CelList {
  readonly values: readonly Value[];

  constructor(values: readonly Value[]) {
    super();
    this.values = values;
  }

  get size(): number {
    return this.values.length;
  }

  at(i: number): Value {
    return this.values[i] ?? null;
  }
}

function placeOf(index: Value): number | CelFailure {
  if (typeof index === 'bigint') return Number(index);
  if (index instanceof Uint) return Number(index.value);
  if (typeof index !== 'number') return new CelFailure(`unsupported index type '${typeNameOf(index)}' in list`);
  return Number.isInteger(index) ? index : new CelFailure(`unsupported index value ${index} in list`);
}

class JoinedList extends CelList {
  readonly size: number;
  readonly #first: CelList;
  readonly #second: CelList;

  constructor(first: CelList, second: CelList) {
    super();
    this.#first = first;
    this.#second = second;
    this.size = first.size + second.size;
  }

  at(i: number): Value {
    const { size } = this.#first;
    return i < size ? this.#first.at(i) : this.#second.at(i - size);
  }
}

export abstract class CelMap {
  abstract readonly size: number;
  /** Undefined if absent. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): readonly Value[];
  abstract equals(other: Value, run: Work): Value;
}

export class PlainMap extends CelMap {
  readonly #entries = new Map<unknown, readonly [key: Value, value: Value]>();

  constructor(entries: Iterable<readonly [key: Value, value: Value]>) {
    super();
    for (const entry of entries) this.#entries.set(identity(entry[0]), entry);
  }

  get size(): number {
    return this.#entries.size;
  }

  find(key: Value): Value | undefined {
    return this.#entries.get(identity(key))?.[1];
  }

  keys(): readonly Value[] {
    return [...this.#entries.values()].map(([key]) => key);
  }

  equals(other: Value, run: Work): Value {
    if (!(other instanceof CelMap) || this.size !== other.size) return false;
    for (const [key, value] of this.#entries.values()) {
      run.work(1);
      const otherValue = other.find(key);
      if (otherValue === undefined) return false;
      const same = equal(value, otherValue, run);
      if (same !== true) return same;
    }
    return true;
  }
}

export type Value =
  | null
  | boolean
  | string
  | bigint
  | number
  | Uint8Array
  | Uint
  | Duration
  | Timestamp
  | TypeName
  | Url
  | Opaque
  | CelList
  | CelMap
  | CelFailure;

export function noSuchOverload(of = ''): CelFailure {
  return new CelFailure(of === '' ? 'no such overload' : `no such overload: ${of}`);
}

/** The identity of a map key: whole numbers of different types are equal. */
function identity(key: Value): unknown {
  if (key instanceof Uint) return key.value;
  if (typeof key === 'number' && Number.isInteger(key)) return BigInt(key);
  return key;
}

/** Returns true, false, or a failure. Values of different types differ, except numbers, which compare by value. */
export function equal(a: Value, b: Value, run: Work): Value {
  if (a instanceof CelFailure) return a;
  if (b instanceof CelFailure) return b;
  if (a === null || b === null) return a === b;
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (typeof a !== 'object') return a === b;
  if (a instanceof CelList || a instanceof CelMap || a instanceof Opaque) return a.equals(b, run);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof TypeName) return b instanceof TypeName && a.name === b.name;
  return b instanceof Url && a.text === b.text;
}

type CelNumber = bigint | number | Uint;

function isNumber(value: Value): value is CelNumber {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;
}

/** Negative, zero or positive; undefined for NaN. Exact across types. */
function compareNumbers(a: CelNumber, b: CelNumber): number | undefined {
  const [x, y] = [a instanceof Uint ? a.value : a, b instanceof Uint ? b.value : b];
  if (x < y) return -1;
  if (x > y) return 1;
  return Number.isNaN(x) || Number.isNaN(y) ? undefined : 0;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** Compares by code points; JavaScript compares UTF-16 units. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    const [left, right] = [isSurrogate(x), isSurrogate(y)];
    if (left !== right) return left ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** The order of two values of one type; undefined if they are not comparable. */
export function compare(a: Value, b: Value): number | undefined {
  if (isNumber(a)) return isNumber(b) ? compareNumbers(a, b) : undefined;
  if (typeof a === 'string') return typeof b === 'string' ? compareTexts(a, b) : undefined;
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : undefined;
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : undefined;
  if (a instanceof Duration) return b instanceof Duration ? compareNumbers(a.nanos, b.nanos) : undefined;
  if (a instanceof Timestamp) return b instanceof Timestamp ? compareNumbers(a.nanos, b.nanos) : undefined;
  return undefined;
}

/** Length in code points. */
export function lengthOf(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      length--;
      i++;
    }
  }
  return length;
}

/** Undefined for values without size. */
export function sizeOf(value: Value | undefined): number | undefined {
  if (typeof value === 'string') return lengthOf(value);
  if (value instanceof Uint8Array) return value.length;
  return value instanceof CelList || value instanceof CelMap ? value.size : undefined;
}

export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    default:
      return classNameOf(value);
  }
}

function classNameOf(value: Value): string {
  if (value === null) return 'null_type';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof CelList) return 'list';
  if (value instanceof CelMap) return 'map';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof TypeName) return 'type';
  return value instanceof Url ? 'kubernetes.URL' : 'unknown';
}
