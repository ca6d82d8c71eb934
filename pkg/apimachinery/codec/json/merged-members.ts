/**
 * JSON texts whose objects have a member twice, as Go's decoder reads them into the fields of its types: the second value goes
 * into what the first has left. Maps and objects get the members of both, lists the elements of the second one, each of which
 * goes into the element at its place, and null leaves alone what cannot be unset.
 */
import { StepBudget, type Steps } from '#apimachinery/async/steps.js';
import { endOfString, parseJSONText } from '#apimachinery/codec/json/text.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Where a value goes; undefined: into nothing that is declared, where the last value is the one that counts. */
type Place = Pick<FieldInfo, 'container' | 'type'> & { readonly canBeUnset: boolean };

interface Frame {
  readonly value: JsonObject | unknown[];
  /** Of a list that takes the place of another one. */
  readonly before: readonly unknown[];
  readonly type: TypeInfo | undefined;
  /** Of all that is in a list or in a map. */
  readonly element: Place | undefined;
  key: string;
}

const whitespace = /\s*/y;
const literal = /[^\s,\]}]+/y;

/** The value of a valid JSON text, whose root is of the type. */
export function* mergedMembers(text: string, type: TypeInfo): Steps<unknown> {
  const frames: Frame[] = [];
  const budget = new StepBudget();
  let root: unknown;
  let isKey = false;
  for (let at = behind(whitespace, text, 0); at < text.length; at = behind(whitespace, text, at)) {
    if (budget.spend(1)) yield;
    const top = frames.at(-1);
    const code = text[at];
    if (code === '}' || code === ']') {
      frames.pop();
      isKey = false;
      at++;
      continue;
    }
    if (code === ',' || code === ':') {
      isKey = code === ',' && top !== undefined && !Array.isArray(top.value);
      at++;
      continue;
    }
    const end = code === '"' ? (endOfString(text, at) ?? text.length) : behind(literal, text, at);
    if (isKey && top !== undefined) {
      top.key = parseJSONText(text.slice(at, end)) as string;
      at = end;
      continue;
    }
    const place = top === undefined ? rootPlace(type) : placeIn(top);
    const before = top === undefined ? undefined : valueBefore(top);
    if (code === '{' || code === '[') {
      const frame = code === '{' ? objectFrame(place, before) : listFrame(place, before);
      if (top === undefined) root = frame.value;
      else put(top, frame.value);
      frames.push(frame);
      isKey = code === '{';
      at++;
      continue;
    }
    const value = parseJSONText(text.slice(at, end), 'literals');
    if (top === undefined) root = value;
    else put(top, value === null && place?.canBeUnset === false ? (before ?? null) : value);
    at = end;
  }
  return root;
}

function behind(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return Math.max(at, pattern.lastIndex);
}

function rootPlace(type: TypeInfo): Place {
  return { container: 'single', type, canBeUnset: false };
}

function placeIn({ type, element, key }: Frame): Place | undefined {
  const field = type?.byName.get(key);
  if (field === undefined) return element;
  return { container: field.container, type: field.type, canBeUnset: canBeUnset(type, field) };
}

/** Lists, maps and pointers can, and what reads null itself. */
function canBeUnset(owner: TypeInfo | undefined, field: FieldInfo): boolean {
  if (field.container !== 'single' || field.pointer) return true;
  if (field.type === undefined) return false;
  return field.type.shape !== 'struct' || owner?.always?.includes(field) !== true;
}

function valueBefore({ value, before, type, key }: Frame): unknown {
  if (Array.isArray(value)) return before[value.length];
  return type !== undefined && Object.hasOwn(value, key) ? value[key] : undefined;
}

function objectFrame(place: Place | undefined, before: unknown): Frame {
  const value = typeof before === 'object' && before !== null && !Array.isArray(before) ? (before as JsonObject) : {};
  if (place?.container === 'map') return { value, before: [], type: undefined, element: elementOf(place), key: '' };
  const type = place?.container === 'single' && place.type?.shape === 'struct' ? place.type : undefined;
  return { value: type === undefined ? {} : value, before: [], type, element: undefined, key: '' };
}

function listFrame(place: Place | undefined, before: unknown): Frame {
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

function put({ value, key }: Frame, member: unknown): void {
  if (Array.isArray(value)) value.push(member);
  else setMember(value, key, member);
}
