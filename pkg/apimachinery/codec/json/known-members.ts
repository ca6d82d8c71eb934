/**
 * Specs of bodies that came before, to the byte: pods of one template have the same, which is most of what they hold, and
 * clients send back what they do not change. Such a spec is parsed and walked over once. Only bodies without blanks are
 * looked at, which is what programs send.
 */

import { type Decoded, decodeJSON, decodeParsed, type FieldValidation } from '#apimachinery/codec/json/json.js';
import { deepFreeze } from '#apimachinery/codec/json/shared-values.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { copyJson } from '#apimachinery/copy.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

const name = 'spec';
const opening = Buffer.from(`"${name}":{`);

/** Shorter ones are parsed in no time. */
const leastBytes = 512;
const mostBytes = 16 * 1024;
/** Deeper ones are left to the walk, which knows how deep is too deep. */
const mostDepth = 64;
/** Beginnings that are told apart; and the bytes of all that is known. */
const maxPlaces = 1024;
const maxBytes = 1024 * 1024;
/** Known specs of one beginning. */
const maxPerPlace = 4;

/** Stands for the known spec while the rest is parsed: a member that the rest cannot have, see `mayHaveMark`. */
const mark = '?';
const marked = `{"${mark}":0}`;

/** A spec that came before. */
export class KnownMember {
  /** Of the object that it is a part of. */
  readonly type: TypeInfo;
  readonly bytes: Buffer;
  /** Canonical, and frozen. */
  readonly value: JsonObject;
  /** What was made of it on the way to the store, for whoever makes something of it: frozen. */
  settled: object | undefined;
  /** How often something else was made of it. */
  otherwise = 0;

  constructor(type: TypeInfo, bytes: Buffer, value: JsonObject) {
    this.type = type;
    this.bytes = bytes;
    this.value = value;
  }

  isAt(body: Buffer, start: number): boolean {
    const { length } = this.bytes;
    return start + length <= body.length && body.compare(this.bytes, 0, length, start, start + length) === 0;
  }
}

export interface KnownDecoded extends Decoded {
  readonly known: KnownMember;
}

/** Specs that begin alike. */
interface Place {
  readonly members: KnownMember[];
  /** How often one came that is not known. */
  unknown: number;
}

export class KnownMembers {
  /** By a hash of the beginning; those that came first are first. */
  readonly #places = new Map<number, Place>();
  #bytes = 0;

  /** The body's object, with a spec that nobody else has; undefined where its spec is not known, or anything else is odd. */
  decode(body: Buffer, type: TypeInfo, validation: FieldValidation): KnownDecoded | undefined {
    const start = startIn(body);
    if (start === undefined || type.byName.get(name) === undefined) return undefined;
    const hash = beginningOf(body, start);
    const place = this.#places.get(hash);
    if (place === undefined) {
      this.#add(hash);
      return undefined;
    }
    for (const member of place.members) {
      if (member.type === type && member.isAt(body, start)) return decodeAround(body, start, member, validation);
    }
    // What differs each time is soon tried less and less.
    if (isPowerOfTwo(++place.unknown)) this.#learn(body, start, type, place);
    return undefined;
  }

  #add(hash: number): void {
    this.#places.set(hash, { members: [], unknown: 0 });
    this.#forget();
  }

  #learn(body: Buffer, start: number, type: TypeInfo, { members }: Place): void {
    const member = memberAt(body, start, type);
    if (member === undefined) return;
    if (members.length === maxPerPlace) this.#bytes -= members.shift()?.bytes.length ?? 0;
    members.push(member);
    this.#bytes += member.bytes.length;
    this.#forget();
  }

  /** The oldest go first. */
  #forget(): void {
    for (const [hash, { members }] of this.#places) {
      if (this.#places.size <= maxPlaces && this.#bytes <= maxBytes) return;
      this.#places.delete(hash);
      for (const { bytes } of members) this.#bytes -= bytes.length;
    }
  }
}

/** True for 1, 2, 4, 8 and so on: to be asked of a count of failures, so that what goes wrong each time costs little. */
export function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0;
}

/** Where the first thing begins that may be the object's spec. */
function startIn(body: Buffer): number | undefined {
  if (body.length < leastBytes) return undefined;
  const at = body.indexOf(opening);
  const start = at + opening.length - 1;
  return at < 0 || start + leastBytes > body.length ? undefined : start;
}

/** A hash of the first bytes. */
function beginningOf(body: Buffer, start: number): number {
  let hash = 0;
  for (let i = start; i < start + leastBytes; i++) hash = Math.imul(hash ^ (body[i] as number), 0x01000193);
  return hash ^ (hash >>> 13);
}

/** Whether a text may have a member of the mark's name: JSON has no other ways to write it. */
function mayHaveMark(text: string): boolean {
  return text.includes(`"${mark}"`) || text.includes('\\u003');
}

/**
 * The object, of which only the rest is parsed. The known bytes are a whole value, so they stand for one wherever the rest
 * is JSON with another value in their place; that this is the object's spec shows where the mark comes out.
 */
function decodeAround(
  body: Buffer,
  start: number,
  known: KnownMember,
  validation: FieldValidation,
): KnownDecoded | undefined {
  const head = body.toString('utf8', 0, start);
  const tail = body.toString('utf8', start + known.bytes.length);
  if (mayHaveMark(head) || mayHaveMark(tail)) return undefined;
  let object: unknown;
  try {
    object = parseJSONText(head + marked + tail);
  } catch {
    // What is wrong is told by whoever parses all of it.
    return undefined;
  }
  if (!isObject(object) || !isObject(object[name]) || !Object.hasOwn(object[name], mark)) return undefined;
  const value = copyJson(known.value);
  object[name] = value;
  const rest = `${head}{}${tail}`;
  return { ...decodeParsed(rest, object, known.type, validation, new Set([value])), known };
}

/** The spec that begins there, unless there is anything to say against it. */
function memberAt(body: Buffer, start: number, type: TypeInfo): KnownMember | undefined {
  const field = type.byName.get(name);
  if (field?.container !== 'single' || field.type?.shape !== 'struct') return undefined;
  const end = endOfObject(body, start);
  if (end === undefined || end - start < leastBytes) return undefined;
  const bytes = Buffer.from(body.subarray(start, end));
  try {
    const { object, warnings } = decodeJSON(bytes, field.type, 'Warn');
    if (warnings.length > 0) return undefined;
    deepFreeze(object);
    return new KnownMember(type, bytes, object);
  } catch (error) {
    if (statusOf(error)?.code === 400) return undefined;
    throw error;
  }
}

const quote = 0x22;
const backslash = 0x5c;

/** Behind the closing brace of the object that begins there; undefined where it is too long, too deep or has no end. */
function endOfObject(body: Buffer, start: number): number | undefined {
  const last = Math.min(body.length, start + mostBytes);
  let depth = 0;
  for (let at = start; at < last; at++) {
    const byte = body[at];
    if (byte === quote) {
      for (at++; at < last && body[at] !== quote; at++) if (body[at] === backslash) at++;
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > mostDepth) return undefined;
    } else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return at + 1;
  }
  return undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
