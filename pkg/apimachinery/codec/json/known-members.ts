/**
 * Specs and managers' field sets of bodies that came before, to the byte: pods of one template have the same, which is most
 * of what they hold, and clients send back what they do not change. Such a part is parsed and walked over once. Only bodies
 * without blanks are looked at, which is what programs send.
 */

import { type Decoded, decodeAround, decodeJSON, type FieldValidation } from '#apimachinery/codec/json/json.js';
import { KnownFieldSets } from '#apimachinery/codec/json/known-field-sets.js';
import { type KnownPart, KnownParts, objectAt } from '#apimachinery/codec/json/known-parts.js';
import { deepFreeze } from '#apimachinery/codec/json/shared-values.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { copyJson } from '#apimachinery/copy.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

const opening = Buffer.from('"spec":{');
/** Shorter ones are parsed in no time. */
const leastBytes = 512;
const mostBytes = 16 * 1024;

/** Stands for a known part while the rest is parsed: a member that the rest cannot have, see `mayHaveMark`. */
const mark = '?';

/** A spec that came before. */
export class KnownMember implements KnownPart<TypeInfo> {
  /** Of the object that it is a part of. */
  readonly of: TypeInfo;
  readonly bytes: Buffer;
  /** Canonical, and frozen. */
  readonly value: JsonObject;
  /** What was made of it on the way to the store, for whoever makes something of it: frozen. */
  settled: object | undefined;
  /** How often something else was made of it. */
  otherwise = 0;

  constructor(of: TypeInfo, bytes: Buffer, value: JsonObject) {
    this.of = of;
    this.bytes = bytes;
    this.value = value;
  }
}

export interface KnownDecoded extends Decoded {
  /** What the spec was known by, of whose value the object has a copy. */
  readonly known?: KnownMember;
}

/** A known part, and the name of the member whose value it has to be. */
interface Placed {
  readonly name: 'spec' | 'fieldsV1';
  readonly start: number;
  readonly length: number;
  readonly value: object;
}

export class KnownMembers {
  readonly #specs = new KnownParts<TypeInfo, KnownMember>({
    leastBytes,
    maxPlaces: 1024,
    maxBytes: 1024 * 1024,
    maxPerPlace: 4,
    make: specAt,
  });
  readonly #fieldSets = new KnownFieldSets();

  /**
   * The body's object, which shares nothing with others but its managers' field sets, which are frozen; undefined where no part
   * of it is known, or anything else is odd.
   */
  decode(body: Buffer, type: TypeInfo, validation: FieldValidation): KnownDecoded | undefined {
    if (body.length < leastBytes || !type.isKind) return undefined;
    const at = type.byName.has('spec') ? body.indexOf(opening) : -1;
    const start = at < 0 ? body.length : at + opening.length - 1;
    const known = at < 0 ? undefined : this.#specs.find(body, start, type);
    const placed: Placed[] = [];
    // Metadata come first in all that programs send.
    for (const { start: from, part } of this.#fieldSets.in(body, start)) {
      placed.push({ name: 'fieldsV1', start: from, length: part.bytes.length, value: part.value });
    }
    if (known !== undefined)
      placed.push({ name: 'spec', start, length: known.bytes.length, value: copyJson(known.value) });
    if (placed.length === 0) return undefined;
    const decoded = decodeMarked(body, placed, type, validation);
    return decoded === undefined || known === undefined ? decoded : { ...decoded, known };
  }
}

/** Whether a text may have a member of the mark's name: JSON has no other ways to write it. */
function mayHaveMark(text: string): boolean {
  return text.includes(`"${mark}"`) || text.includes('\\u003');
}

/**
 * The object, of which only the rest is parsed. The known bytes are whole values, so they stand for ones wherever the rest
 * is JSON with other values in their places; whether these are where they belong shows where the marks come out.
 */
function decodeMarked(
  body: Buffer,
  placed: readonly Placed[],
  type: TypeInfo,
  validation: FieldValidation,
): Decoded | undefined {
  let marked = '';
  let rest = '';
  let from = 0;
  for (let i = 0; i <= placed.length; i++) {
    const next = placed[i];
    const between = body.toString('utf8', from, next?.start);
    if (mayHaveMark(between)) return undefined;
    marked += between;
    rest += between;
    if (next === undefined) break;
    marked += `{"${mark}":${i}}`;
    rest += '{}';
    from = next.start + next.length;
  }
  let object: unknown;
  try {
    object = parseJSONText(marked, 'literals');
  } catch {
    // What is wrong is told by whoever parses all of it.
    return undefined;
  }
  if (!isObject(object)) return undefined;
  let found = put(object, 'spec', placed);
  const { metadata } = object;
  const entries = isObject(metadata) ? metadata['managedFields'] : undefined;
  if (Array.isArray(entries)) for (const entry of entries as unknown[]) found += put(entry, 'fieldsV1', placed);
  // Of members that repeat, only the last one comes out.
  if (found !== placed.length) return undefined;
  return decodeAround(rest, object, type, validation, new Set(placed.map(({ value }) => value)));
}

/** Puts the part that a mark stands for in its place; how many there were. */
function put(owner: unknown, name: Placed['name'], placed: readonly Placed[]): 0 | 1 {
  if (!isObject(owner) || !Object.hasOwn(owner, name)) return 0;
  const value = owner[name];
  if (!isObject(value) || !Object.hasOwn(value, mark)) return 0;
  const part = placed[value[mark] as number];
  if (part?.name !== name) return 0;
  owner[name] = part.value;
  return 1;
}

/** The spec that begins there, unless there is anything to say against it. */
function specAt(body: Buffer, start: number, type: TypeInfo): KnownMember | undefined {
  const field = type.byName.get('spec');
  if (field?.container !== 'single' || field.type?.shape !== 'struct') return undefined;
  const found = objectAt(body, start, mostBytes);
  if (found === undefined) return undefined;
  const bytes = Buffer.from(found);
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

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
