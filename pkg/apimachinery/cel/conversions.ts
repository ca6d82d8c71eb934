/** Conversions between Common Expression Language (CEL) types. */

import { toDuration, toInt, toTimestamp, toUint } from '#apimachinery/cel/numbers.js';
import { formatDuration, formatTimestamp, parseDurationText, parseTimestamp } from '#apimachinery/cel/timestamps.js';
import { CelFailure, Duration, Timestamp, TypeName, typeNameOf, Uint, type Value } from '#apimachinery/cel/values.js';
import { goFloat } from '#apimachinery/errors/go-value.js';

type Convert = (value: Value) => Value | undefined;

/** Conversions by the name of their type function. */
const conversions: Readonly<Record<string, Convert>> = {
  int: (value) => {
    if (typeof value === 'bigint') return value;
    if (value instanceof Uint) return toInt(value.value);
    if (typeof value === 'number') {
      if (!Number.isFinite(value) || value <= -(2 ** 63) || value >= 2 ** 63) return new CelFailure('integer overflow');
      return BigInt(Math.trunc(value));
    }
    if (value instanceof Timestamp) return floorSeconds(value.nanos);
    if (value instanceof Duration) return value.nanos;
    const parsed = typeof value === 'string' && /^[+-]?\d{1,30}$/.test(value) ? toInt(BigInt(plain(value))) : undefined;
    return parsed instanceof CelFailure ? undefined : parsed;
  },
  uint: (value) => {
    if (value instanceof Uint) return value;
    if (typeof value === 'bigint') return toUint(value);
    if (typeof value === 'number') {
      if (!Number.isFinite(value) || value < 0 || value >= 2 ** 64) return new CelFailure('unsigned integer overflow');
      return new Uint(BigInt(Math.trunc(value)));
    }
    const parsed = typeof value === 'string' && /^\d{1,30}$/.test(value) ? toUint(BigInt(value)) : undefined;
    return parsed instanceof CelFailure ? undefined : parsed;
  },
  double: (value) => {
    if (typeof value === 'number') return value;
    if (typeof value === 'bigint') return Number(value);
    if (value instanceof Uint) return Number(value.value);
    return typeof value === 'string' ? parseDouble(value) : undefined;
  },
  bool: (value) => {
    if (typeof value === 'boolean') return value;
    return typeof value === 'string' ? booleans[value] : undefined;
  },
  string: (value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
    if (value instanceof Uint) return String(value.value);
    if (typeof value === 'number') return goFloat(value);
    if (value instanceof Timestamp) return formatTimestamp(value);
    if (value instanceof Duration) return formatDuration(value);
    return value instanceof Uint8Array ? decoded(value) : undefined;
  },
  bytes: (value) => {
    if (value instanceof Uint8Array) return value;
    return typeof value === 'string' ? Buffer.from(value, 'utf8') : undefined;
  },
  timestamp: (value) => {
    if (value instanceof Timestamp) return value;
    if (typeof value === 'bigint') return toTimestamp(value * 1_000_000_000n);
    const parsed = typeof value === 'string' ? parseTimestamp(value) : undefined;
    return parsed === undefined ? undefined : toTimestamp(parsed.nanos, parsed.zoneMinutes);
  },
  duration: (value) => {
    if (value instanceof Duration) return value;
    if (typeof value === 'bigint') return toDuration(value);
    const nanos = typeof value === 'string' ? parseDurationText(value) : undefined;
    return nanos === undefined ? undefined : new Duration(nanos);
  },
  type: (value) => new TypeName(typeNameOf(value)),
  dyn: (value) => value,
};

const fullNames: Readonly<Record<string, string>> = {
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
};

/** Undefined if the function is not a type conversion. */
export function converted(fn: string, value: Value): Value | undefined {
  const convert = Object.hasOwn(conversions, fn) ? conversions[fn] : undefined;
  if (convert === undefined) return undefined;
  const result = convert(value);
  if (result !== undefined) return result;
  return new CelFailure(`type conversion error from '${typeNameOf(value)}' to '${fullNames[fn] ?? fn}'`);
}

const booleans: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true])),
  ...Object.fromEntries(['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false])),
};

function plain(text: string): string {
  return text.startsWith('+') ? text.slice(1) : text;
}

function floorSeconds(nanos: bigint): bigint {
  const second = 1_000_000_000n;
  const rest = ((nanos % second) + second) % second;
  return (nanos - rest) / second;
}

function parseDouble(text: string): number | undefined {
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  const word = text.toLowerCase().replace(/^[+-]/, '');
  if (word === 'nan') return text.toLowerCase() === 'nan' ? Number.NaN : undefined;
  if (word !== 'inf' && word !== 'infinity') return undefined;
  return text.startsWith('-') ? -Infinity : Infinity;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array): Value {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return new CelFailure('invalid UTF-8 in bytes, cannot convert to string');
  }
}
