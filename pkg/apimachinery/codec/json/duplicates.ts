/** Finds repeated members of JSON objects, of which JSON.parse silently keeps the last, and decodes them like 1.24. */
import { StepBudget, type Steps } from '#apimachinery/async/steps.js';
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  JSONCursor,
  openBrace,
  openBracket,
  quote,
} from '#apimachinery/codec/json/cursor.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { goFloat } from '#apimachinery/errors/go-value.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Paths (`spec.containers[0].name`) of repeated members, at most `limit`. The text must be valid JSON. */
export function* duplicateKeys(json: Buffer, limit: number): Steps<string[]> {
  const repeated: string[] = [];
  /** Frames by depth. Those below the current depth are reused. */
  const frames: Frame[] = [];
  let depth = 0;
  const cursor = new JSONCursor(json);
  const budget = new StepBudget();
  let top: Frame | undefined;
  let isKey = false;
  for (let byte = cursor.advance(); byte >= 0; byte = cursor.advance()) {
    switch (byte) {
      case quote:
        if (!isKey || top === undefined) break;
        isKey = false;
        if (!top.add(cursor)) repeated.push(pathOf(frames.slice(0, depth), cursor));
        if (repeated.length === limit) return repeated;
        break;
      case openBrace:
      case openBracket:
        isKey = byte === openBrace;
        top = frames[depth] ??= new Frame();
        top.begin(isKey);
        depth++;
        break;
      case closeBrace:
      case closeBracket:
        top = frames[--depth - 1];
        isKey = false;
        break;
      case comma:
        if (budget.spend(1)) yield;
        if (top === undefined) break;
        isKey = top.isObject;
        top.index++;
        break;
    }
  }
  return repeated;
}

/** Below this number of keys, hashes are compared pairwise. */
const fewKeys = 32;

/** An object or list around the current token. */
class Frame {
  isObject = false;
  /** Index of the current list element. */
  index = 0;
  /** Offsets of the last key. */
  #start = 0;
  #end = 0;
  #hashes: number[] = [];
  /** Offsets of all keys so far. */
  #bounds: number[] = [];
  /** The decoded keys, for objects with many keys, equal hashes or escapes. */
  #names: Set<string> | undefined;

  begin(isObject: boolean): void {
    this.isObject = isObject;
    this.index = 0;
    if (this.#hashes.length > 0) {
      this.#hashes = [];
      this.#bounds = [];
    }
    this.#names = undefined;
  }

  /** False if the object already has the key that the cursor just passed. */
  add(cursor: JSONCursor): boolean {
    const { start, at } = cursor;
    this.#start = start;
    this.#end = at;
    if (this.#names === undefined) {
      const hash = this.#hashes.length < fewKeys ? hashOf(cursor.bytes, start, at) : escaped;
      if (hash !== escaped && !this.#hashes.includes(hash)) {
        this.#hashes.push(hash);
        this.#bounds.push(start, at);
        return true;
      }
      this.#names = namesIn(cursor, this.#bounds);
    }
    const { size } = this.#names;
    return this.#names.add(cursor.string(start, at)).size > size;
  }

  step(cursor: JSONCursor, path: string): string {
    if (!this.isObject) return `${path}[${this.index}]`;
    const key = cursor.string(this.#start, this.#end);
    return path === '' ? key : `${path}.${key}`;
  }
}

function pathOf(frames: readonly Frame[], cursor: JSONCursor): string {
  return frames.reduce((path, frame) => frame.step(cursor, path), '');
}

function namesIn(cursor: JSONCursor, bounds: readonly number[]): Set<string> {
  const names = new Set<string>();
  for (let i = 0; i < bounds.length; i += 2) names.add(cursor.string(bounds[i] as number, bounds[i + 1] as number));
  return names;
}

const escaped = -1;

/** A hash of the bytes of a key; -1 if it contains escapes. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === backslash) return escaped;
    hash = (Math.imul(hash, 31) + byte) & 0x3fffffff;
  }
  return hash;
}

/** A repeated key of a YAML map, in the words of 1.24: `line 7: key "a" already set in map`. `line` counts from 1. */
export function repeatedKey(key: unknown, line: number): string {
  return `line ${line}: key ${shown(key)} already set in map`;
}

function shown(key: unknown): string {
  if (typeof key === 'string') return JSON.stringify(key);
  if (key === null) return 'interface {}(nil)';
  return typeof key === 'number' ? goFloat(key) : String(key);
}

/** The error of strict decoding for these repeated keys. */
export function repeatedKeysError(repeated: readonly string[]): string {
  return ['yaml: unmarshal errors:', ...repeated].join('\n  ');
}

/** The target of a value; undefined for an undeclared member, whose last value wins. */
type Place = Pick<FieldInfo, 'container' | 'type'> & { readonly canBeUnset: boolean };

interface MergedFrame {
  readonly value: JsonObject | unknown[];
  /** The previous list that this list replaces. */
  readonly before: readonly unknown[];
  readonly type: TypeInfo | undefined;
  /** The target of all elements of a list or map. */
  readonly element: Place | undefined;
  key: string;
}

/**
 * Decodes a valid JSON text with repeated members like Go's decoder fills typed fields: a second value is decoded into
 * the result of the first. Maps and objects combine the members of both; lists take the elements of the second, each
 * decoded into the element at its index; null leaves values that cannot be nil unchanged.
 */
export function* mergedMembers(json: Buffer, type: TypeInfo): Steps<unknown> {
  const frames: MergedFrame[] = [];
  const cursor = new JSONCursor(json);
  const budget = new StepBudget();
  let root: unknown;
  let isKey = false;
  for (let byte = cursor.advance(); byte >= 0; byte = cursor.advance()) {
    if (budget.spend(1)) yield;
    const top = frames.at(-1);
    if (byte === closeBrace || byte === closeBracket) {
      frames.pop();
      isKey = false;
      continue;
    }
    if (byte === comma || byte === colon) {
      isKey = byte === comma && top !== undefined && !Array.isArray(top.value);
      continue;
    }
    const text = () => json.toString('utf8', cursor.start, cursor.at);
    if (isKey && top !== undefined) {
      top.key = parseJSONText(text()) as string;
      continue;
    }
    const place = top === undefined ? rootPlace(type) : placeIn(top);
    const before = top === undefined ? undefined : valueBefore(top);
    let value: unknown;
    if (byte === openBrace || byte === openBracket) {
      const frame = byte === openBrace ? mergedObject(place, before) : mergedList(place, before);
      frames.push(frame);
      isKey = byte === openBrace;
      value = frame.value;
    } else {
      value = parseJSONText(text(), 'literals');
      if (value === null && place?.canBeUnset === false) value = before ?? null;
    }
    if (top === undefined) root = value;
    else put(top, value);
  }
  return root;
}

function rootPlace(type: TypeInfo): Place {
  return { container: 'single', type, canBeUnset: false };
}

function placeIn({ type, element, key }: MergedFrame): Place | undefined {
  const field = type?.byName.get(key);
  if (field === undefined) return element;
  return { container: field.container, type: field.type, canBeUnset: canBeUnset(type, field) };
}

/** Lists, maps, pointers, and types with their own decoder for null can be nil. */
function canBeUnset(owner: TypeInfo | undefined, field: FieldInfo): boolean {
  if (field.container !== 'single' || field.pointer) return true;
  if (field.type === undefined) return false;
  return field.type.shape !== 'struct' || owner?.always?.includes(field) !== true;
}

function valueBefore({ value, before, type, key }: MergedFrame): unknown {
  if (Array.isArray(value)) return before[value.length];
  return type !== undefined && Object.hasOwn(value, key) ? value[key] : undefined;
}

function mergedObject(place: Place | undefined, before: unknown): MergedFrame {
  const value = typeof before === 'object' && before !== null && !Array.isArray(before) ? (before as JsonObject) : {};
  if (place?.container === 'map') return { value, before: [], type: undefined, element: elementOf(place), key: '' };
  const type = place?.container === 'single' && place.type?.shape === 'struct' ? place.type : undefined;
  return { value: type === undefined ? {} : value, before: [], type, element: undefined, key: '' };
}

function mergedList(place: Place | undefined, before: unknown): MergedFrame {
  const bare = place?.type?.shape === 'bareList' ? place.type.fields[0] : undefined;
  const element = bare === undefined ? (place?.container === 'list' ? place : undefined) : bare;
  return {
    value: [],
    before: element !== undefined && Array.isArray(before) ? before : [],
    type: undefined,
    element: element && elementOf(element),
    key: '',
  };
}

function elementOf({ type }: Pick<FieldInfo, 'type'>): Place {
  return { container: 'single', type, canBeUnset: type !== undefined && type.shape !== 'struct' };
}

function put({ value, key }: MergedFrame, member: unknown): void {
  if (Array.isArray(value)) value.push(member);
  else setMember(value, key, member);
}
