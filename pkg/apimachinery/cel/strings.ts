/** Text functions, which count code points. Source: github.com/google/cel-go v0.10, ext/strings.go. */
import {
  CelFailure,
  type CelList,
  lengthOf,
  noSuchOverload,
  PlainList,
  type Value,
  type Work,
} from '#apimachinery/cel/values.js';

type TextFunction = (text: string, args: readonly Value[], run: Work) => Value;

export const textFunctions: Readonly<Record<string, TextFunction>> = {
  contains: (text, [part]) => (typeof part === 'string' ? text.includes(part) : noSuchOverload()),
  startsWith: (text, [part]) => (typeof part === 'string' ? text.startsWith(part) : noSuchOverload()),
  endsWith: (text, [part]) => (typeof part === 'string' ? text.endsWith(part) : noSuchOverload()),
  charAt: (text, [index]) => {
    if (typeof index !== 'bigint') return noSuchOverload();
    const points = [...text];
    return outOfRange(index, points.length) ?? points[Number(index)] ?? '';
  },
  indexOf: (text, [part, from = 0n], run) => {
    if (typeof part !== 'string' || typeof from !== 'bigint') return noSuchOverload();
    if (part === '') return from;
    const length = lengthOf(text);
    if (from < 0n || from >= BigInt(length)) return new CelFailure(`index out of range: ${from}`);
    run.work(text.length + part.length);
    const at = text.indexOf(part, unitOf(text, Number(from)));
    return at < 0 ? -1n : BigInt(lengthOf(text.slice(0, at)));
  },
  lastIndexOf: (text, [part, from], run) => {
    if (typeof part !== 'string' || !(from === undefined || typeof from === 'bigint')) return noSuchOverload();
    const length = lengthOf(text);
    if (part === '') return from ?? BigInt(length);
    const last = from ?? BigInt(length - 1);
    if (last < 0n || last >= BigInt(length)) return new CelFailure(`index out of range: ${last}`);
    run.work(text.length + part.length);
    const at = text.lastIndexOf(part, unitOf(text, Number(last)));
    return at < 0 ? -1n : BigInt(lengthOf(text.slice(0, at)));
  },
  lowerAscii: (text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  upperAscii: (text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
  trim: (text) => text.replace(/^[\s\u0085]+|[\s\u0085]+$/g, (space) => space.replace(/[^\ufeff]/g, '')),
  replace: (text, [from, to, limit], run) => {
    if (typeof from !== 'string' || typeof to !== 'string') return noSuchOverload();
    if (!(limit === undefined || typeof limit === 'bigint')) return noSuchOverload();
    return replaced(text, { from, to, limit: limit === undefined || limit < 0n ? Infinity : Number(limit) }, run);
  },
  split: (text, [separator, limit], run) => {
    if (typeof separator !== 'string' || !(limit === undefined || typeof limit === 'bigint')) return noSuchOverload();
    run.work(text.length);
    return new PlainList(pieces(text, separator, limit === undefined || limit < 0n ? Infinity : Number(limit)));
  },
  substring: (text, [from, to]) => {
    if (typeof from !== 'bigint' || !(to === undefined || typeof to === 'bigint')) return noSuchOverload();
    if (to !== undefined && from > to) {
      return new CelFailure(`invalid substring range. start: ${from}, end: ${to}`);
    }
    const length = lengthOf(text);
    const failure = outOfRange(from, length) ?? (to === undefined ? undefined : outOfRange(to, length));
    if (failure !== undefined) return failure;
    return text.slice(unitOf(text, Number(from)), to === undefined ? undefined : unitOf(text, Number(to)));
  },
};

function outOfRange(index: bigint, length: number): CelFailure | undefined {
  return index < 0n || index > BigInt(length) ? new CelFailure(`index out of range: ${index}`) : undefined;
}

/** The UTF-16 index of a code point. */
function unitOf(text: string, point: number): number {
  let unit = 0;
  for (let i = 0; i < point && unit < text.length; i++) {
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  }
  return unit;
}

/** Longer than any object, so that repeated replacements cannot grow a text without bound. */
const maxLength = 10_000_000;

interface Replacement {
  readonly from: string;
  readonly to: string;
  readonly limit: number;
}

function replaced(text: string, { from, to, limit }: Replacement, run: Work): Value {
  run.work(text.length);
  const points = from === '' ? [...text] : undefined;
  const parts = points ?? pieces(text, from, limit + 1);
  const count = points === undefined ? parts.length - 1 : Math.min(limit, parts.length + 1);
  if (text.length + count * Math.max(to.length - from.length, 0) > maxLength) {
    return new CelFailure('text is too large');
  }
  run.work(count * to.length);
  if (points === undefined) return parts.join(to);
  // Inserts between all code points and at both ends.
  return points.map((point, i) => (i < count ? to + point : point)).join('') + (count > points.length ? to : '');
}

/** Splits like Go: at most `limit` pieces, the last with the rest. */
function pieces(text: string, separator: string, limit: number): string[] {
  if (limit === 0) return [];
  if (separator === '') {
    const points = [...text];
    if (points.length <= limit) return points;
    return [...points.slice(0, limit - 1), points.slice(limit - 1).join('')];
  }
  if (limit === Infinity) return text.split(separator);
  const parts: string[] = [];
  let from = 0;
  while (parts.length < limit - 1) {
    const at = text.indexOf(separator, from);
    if (at < 0) break;
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return parts;
}

export function joined(list: CelList, separator: Value | undefined, run: Work): Value {
  if (separator !== undefined && typeof separator !== 'string') return noSuchOverload();
  const texts: string[] = [];
  let length = 0;
  for (let i = 0; i < list.size; i++) {
    const text = list.at(i);
    if (text instanceof CelFailure) return text;
    if (typeof text !== 'string') return noSuchOverload();
    length += text.length + (separator?.length ?? 0);
    if (length > maxLength) return new CelFailure('text is too large');
    texts.push(text);
  }
  run.work(length);
  return texts.join(separator ?? '');
}
