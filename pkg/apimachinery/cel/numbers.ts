/** Arithmetic of the Common Expression Language (CEL): 64 bits with overflow errors. */
import {
  CelFailure,
  CelList,
  Duration,
  noSuchOverload,
  Timestamp,
  Uint,
  type Value,
  type Work,
} from '#apimachinery/cel/values.js';

const minInt = -(2n ** 63n);
const maxInt = 2n ** 63n - 1n;
const maxUint = 2n ** 64n - 1n;
const second = 1_000_000_000n;
/** Years 1 to 9999. */
const minTime = -62_135_596_800n * second;
const maxTime = 253_402_300_800n * second - 1n;

export function toInt(value: bigint): bigint | CelFailure {
  return value < minInt || value > maxInt ? new CelFailure('integer overflow') : value;
}

export function toUint(value: bigint): Uint | CelFailure {
  return value < 0n || value > maxUint ? new CelFailure('unsigned integer overflow') : new Uint(value);
}

export function toDuration(nanos: bigint): Duration | CelFailure {
  return nanos < minInt || nanos > maxInt ? new CelFailure('duration overflow') : new Duration(nanos);
}

export function toTimestamp(nanos: bigint, zoneMinutes = 0): Timestamp | CelFailure {
  return nanos < minTime || nanos > maxTime ? new CelFailure('timestamp overflow') : new Timestamp(nanos, zoneMinutes);
}

export function add(a: Value, b: Value, run: Work): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return toInt(a + b);
  if (typeof a === 'string' && typeof b === 'string') return a + b;
  if (a instanceof CelList) return a.add(b, run);
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (a instanceof Uint && b instanceof Uint) return toUint(a.value + b.value);
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    run.work(a.length + b.length);
    return Buffer.concat([a, b]);
  }
  if (a instanceof Duration && b instanceof Duration) return toDuration(a.nanos + b.nanos);
  if (a instanceof Timestamp && b instanceof Duration) return toTimestamp(a.nanos + b.nanos, a.zoneMinutes);
  if (a instanceof Duration && b instanceof Timestamp) return toTimestamp(a.nanos + b.nanos, b.zoneMinutes);
  return noSuchOverload(isAdder(a) ? '' : '_+_');
}

function isAdder(value: Value): boolean {
  return typeof value !== 'boolean' && value !== null;
}

export function subtract(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return toInt(a - b);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (a instanceof Uint && b instanceof Uint) return toUint(a.value - b.value);
  if (a instanceof Duration && b instanceof Duration) return toDuration(a.nanos - b.nanos);
  if (a instanceof Timestamp && b instanceof Duration) return toTimestamp(a.nanos - b.nanos, a.zoneMinutes);
  if (a instanceof Timestamp && b instanceof Timestamp) return toDuration(a.nanos - b.nanos);
  return noSuchOverload(isSubtractor(a) ? '' : '_-_');
}

function isSubtractor(value: Value): boolean {
  return isCelNumber(value) || value instanceof Duration || value instanceof Timestamp;
}

function isCelNumber(value: Value): boolean {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;
}

export function multiply(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return toInt(a * b);
  if (typeof a === 'number' && typeof b === 'number') return a * b;
  if (a instanceof Uint && b instanceof Uint) return toUint(a.value * b.value);
  return noSuchOverload(isCelNumber(a) ? '' : '_*_');
}

export function divide(a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') return a / b;
  if (typeof a === 'bigint' && typeof b === 'bigint') {
    return b === 0n ? new CelFailure('division by zero') : toInt(a / b);
  }
  if (a instanceof Uint && b instanceof Uint) {
    return b.value === 0n ? new CelFailure('division by zero') : toUint(a.value / b.value);
  }
  return noSuchOverload(isCelNumber(a) ? '' : '_/_');
}

export function modulo(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') {
    if (b === 0n) return new CelFailure('modulus by zero');
    return a === minInt && b === -1n ? new CelFailure('integer overflow') : a % b;
  }
  if (a instanceof Uint && b instanceof Uint) {
    return b.value === 0n ? new CelFailure('modulus by zero') : new Uint(a.value % b.value);
  }
  return noSuchOverload(typeof a === 'bigint' || a instanceof Uint ? '' : '_%_');
}

export function negate(value: Value): Value {
  if (typeof value === 'bigint') return toInt(-value);
  if (typeof value === 'number') return -value;
  if (value instanceof Duration) return toDuration(-value.nanos);
  return noSuchOverload(typeof value === 'boolean' ? '' : '-_');
}
