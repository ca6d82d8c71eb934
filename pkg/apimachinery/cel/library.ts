/**
 * Implementations of functions, by name and argument types. Sources: github.com/google/cel-go v0.10,
 * interpreter/functions; 1.24, …/apiextensions-apiserver/pkg/apiserver/schema/cel/library.
 */
import { converted } from '#apimachinery/cel/conversions.js';
import { add, divide, modulo, multiply, negate, subtract } from '#apimachinery/cel/numbers.js';
import { joined, textFunctions } from '#apimachinery/cel/strings.js';
import { durationPart, timestampPart } from '#apimachinery/cel/timestamps.js';
import { parseUrl, urlPart } from '#apimachinery/cel/urls.js';
import {
  CelFailure,
  CelList,
  CelMap,
  compare,
  Duration,
  equal,
  noSuchOverload,
  PlainList,
  sizeOf,
  Timestamp,
  Uint,
  Url,
  type Value,
  type Work,
} from '#apimachinery/cel/values.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Pattern } from '#apimachinery/patterns/pattern.js';

/** The part of an evaluation that functions use. */
export interface Running extends Work {
  /** Throws an error that describes an invalid pattern. */
  pattern(text: string): Pattern;
}

/** `overload`: the overload if there is only one. None of the values is a failure. */
export type Implementation = (args: readonly Value[], run: Running, overload: string) => Value;

const ordering = (fn: string, holds: (order: number) => boolean): Implementation => {
  return ([a = null, b = null]) => {
    const order = compare(a, b);
    if (order !== undefined) return holds(order);
    if (Number.isNaN(a) || Number.isNaN(b)) return new CelFailure('NaN values cannot be ordered');
    return noSuchOverload(compare(a, a) === undefined ? fn : '');
  };
};

const operators: Readonly<Record<string, Implementation>> = {
  '!_': ([value]) => (typeof value === 'boolean' ? !value : noSuchOverload('!_')),
  '-_': ([value = null]) => negate(value),
  '_+_': ([a = null, b = null], run) => add(a, b, run),
  '_-_': ([a = null, b = null]) => subtract(a, b),
  '_*_': ([a = null, b = null]) => multiply(a, b),
  '_/_': ([a = null, b = null]) => divide(a, b),
  '_%_': ([a = null, b = null]) => modulo(a, b),
  '_<_': ordering('_<_', (order) => order < 0),
  '_<=_': ordering('_<=_', (order) => order <= 0),
  '_>_': ordering('_>_', (order) => order > 0),
  '_>=_': ordering('_>=_', (order) => order >= 0),
  '@in': ([value = null, within = null], run) => {
    if (within instanceof CelList) return within.contains(value, run);
    if (!(within instanceof CelMap)) return noSuchOverload();
    const position = within.find(value);
    return position instanceof CelFailure ? position : position !== undefined;
  },
};

const lists: Readonly<Record<string, (list: CelList, run: Running, overload: string) => Value>> = {
  isSorted: (list) => {
    for (let i = 0; i < list.size; i++) {
      const [before, value] = [i === 0 ? undefined : list.at(i - 1), list.at(i)];
      if (value instanceof CelFailure) return value;
      const order = compare(before ?? value, value);
      if (order === undefined) return noSuchOverload();
      if (order > 0) return false;
    }
    return true;
  },
  sum: (list, run, overload) => {
    let total = zeroOf(overload, list.size === 0 ? undefined : list.at(0));
    for (let i = 0; i < list.size; i++) {
      const value = list.at(i);
      if (value instanceof CelFailure) return value;
      total = add(total, value, run);
      if (total instanceof CelFailure) return total;
    }
    return total;
  },
  max: (list) => extreme('max', list, (order) => order < 0),
  min: (list) => extreme('min', list, (order) => order > 0),
};

function zeroOf(overload: string, first: Value | undefined): Value {
  if (overload.startsWith('list_uint') || first instanceof Uint) return new Uint(0n);
  if (overload.startsWith('list_double') || typeof first === 'number') return 0;
  if (overload.startsWith('list_duration') || first instanceof Duration) return new Duration(0n);
  return first === undefined || typeof first === 'bigint' ? 0n : noSuchOverload();
}

function extreme(fn: string, list: CelList, isBetter: (order: number) => boolean): Value {
  let best: Value | undefined;
  for (let i = 0; i < list.size; i++) {
    const value = list.at(i);
    if (value instanceof CelFailure) return value;
    const order = compare(best ?? value, value);
    if (order === undefined) return noSuchOverload();
    if (best === undefined || isBetter(order)) best = value;
  }
  return best ?? new CelFailure(`${fn} called on empty list`);
}

function indexOf(list: CelList, value: Value, run: Running, fromEnd: boolean): Value {
  for (let n = 0; n < list.size; n++) {
    const i = fromEnd ? list.size - 1 - n : n;
    run.work(1);
    if (equal(list.at(i), value, run) === true) return BigInt(i);
  }
  return -1n;
}

const calls: Readonly<Record<string, Implementation>> = {
  ...operators,
  size: ([value]) => {
    const size = sizeOf(value);
    return size === undefined ? noSuchOverload('size') : BigInt(size);
  },
  matches: ([text, pattern], run) => {
    if (typeof text !== 'string') return noSuchOverload('matches');
    if (typeof pattern !== 'string') return noSuchOverload();
    return withPattern(pattern, text, run, '', (compiled) => compiled.test(text));
  },
  find: ([text, pattern], run) => {
    if (typeof text !== 'string' || typeof pattern !== 'string') return noSuchOverload();
    return withPattern(pattern, text, run, 'Illegal regex: ', (compiled) => compiled.find(text, 1)[0] ?? '');
  },
  findAll: ([text, pattern, limit = -1n], run) => {
    if (typeof text !== 'string' || typeof pattern !== 'string' || typeof limit !== 'bigint') return noSuchOverload();
    const most = limit < 0n ? Infinity : Number(limit);
    return withPattern(pattern, text, run, 'Illegal regex: ', (compiled) => new PlainList(compiled.find(text, most)));
  },
  url: ([text]) => (typeof text === 'string' ? parseUrl(text) : noSuchOverload()),
  isURL: ([text]) => (typeof text === 'string' ? !(parseUrl(text) instanceof CelFailure) : noSuchOverload()),
  join: ([list, separator], run) => (list instanceof CelList ? joined(list, separator, run) : noSuchOverload()),
};

/** Work per state of a pattern beyond the counted cost. */
const unitsPerState = 0.5;

function withPattern(
  pattern: string,
  text: string,
  run: Running,
  prefix: string,
  use: (compiled: Pattern) => Value,
): Value {
  let compiled: Pattern;
  run.work(pattern.length);
  try {
    compiled = run.pattern(pattern);
  } catch (error) {
    return new CelFailure(prefix + messageOf(error));
  }
  run.work(text.length * compiled.weight * unitsPerState);
  return use(compiled);
}

/** The implementation of a function. Throws for an undeclared one. */
export function implementationOf(fn: string): Implementation {
  const implementation = Object.hasOwn(calls, fn) ? calls[fn] : undefined;
  if (implementation !== undefined) return implementation;
  const onText = Object.hasOwn(textFunctions, fn) ? textFunctions[fn] : undefined;
  return (args, run, overload) => {
    const [first = null, ...rest] = args;
    if (onText !== undefined && typeof first === 'string') return onText(first, rest, run);
    if (first instanceof CelList) {
      const onList = Object.hasOwn(lists, fn) ? lists[fn] : undefined;
      if (onList !== undefined) return onList(first, run, overload);
      if (fn === 'indexOf' || fn === 'lastIndexOf') return indexOf(first, rest[0] ?? null, run, fn === 'lastIndexOf');
    }
    return converted(fn, first) ?? partOf(fn, first, rest[0]) ?? noSuchOverload();
  };
}

function partOf(fn: string, value: Value, zone: Value | undefined): Value | undefined {
  if (value instanceof Url) return urlPart(fn, value);
  if (value instanceof Duration) return zone === undefined ? durationPart(fn, value) : undefined;
  if (!(value instanceof Timestamp) || !(zone === undefined || typeof zone === 'string')) return undefined;
  return timestampPart(fn, value, zone);
}
