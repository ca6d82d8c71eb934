/**
 * Constructors of field failures, in the wording of release 1.24. The path is not part of the message; the
 * `Invalid` status joins the two.
 */

import { goFloat } from '#apimachinery/errors/go-value.js';
import { cut, hexBytes, quoted, shownJson } from '#apimachinery/errors/shown.js';
import { type FieldFailure, maxFailures } from '#apimachinery/errors/status.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
}

/**
 * How a refused value is shown: strings quoted, numbers and booleans plain, lists of strings in Go's syntax, everything else
 * as JSON.
 */
function show(value: unknown): string {
  if (value instanceof Strings || value instanceof GoValue) return value.toString();
  if (value === undefined || value === null) return '"null"';
  if (typeof value === 'string') return quoted(value);
  // An integer beyond 2^53 is a bigint, so this is a double.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : goFloat(value);
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (isTexts(value)) return new Strings(value).toString();
  return shownJson(value) ?? '"null"';
}

/** A value that messages show as 1.24 does, whose types have names: in Go's syntax (`%#v`). */
export class GoValue {
  readonly #text: () => string;

  constructor(text: () => string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text();
  }
}

/** A map of strings: `map[string]string{"a":"b"}`. */
export function goStringMap(map: Readonly<Record<string, string>> | undefined): GoValue {
  const members = Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return new GoValue(() =>
    members.length === 0
      ? 'map[string]string(nil)'
      : `map[string]string{${members.map(([name, value]) => `${quoted(name)}:${quoted(value)}`).join(', ')}}`,
  );
}

/** A message whose members are shown by their Go names: `rbac.RoleRef{APIGroup:"", Kind:"Role"}`. */
export function goStruct(type: string, members: Readonly<Record<string, unknown>>): GoValue {
  return new GoValue(() => {
    const shown = Object.entries(members).map(([name, value]) => `${name}:${show(value)}`);
    return `${type}{${shown.join(', ')}}`;
  });
}

/** What has no value: `(*core.ExecAction)(nil)`, `[]networking.IngressRule(nil)`. */
export function goNil(type: string): GoValue {
  return new GoValue(() => `${type.startsWith('*') ? `(${type})` : type}(nil)`);
}

/** Bytes, which JSON has in base64: `[]byte{0x61}`. */
export function goBytes(base64: string | undefined): GoValue {
  if (base64 === undefined) return goNil('[]byte');
  return new GoValue(() => cut(`[]byte{${hexBytes(base64)}}`));
}

/** Text that is a count or a percentage. */
export function goIntOrString(value: string | number): GoValue {
  const [text, count] = typeof value === 'string' ? [value, 0] : ['', value];
  return goStruct('intstr.IntOrString', { Type: typeof value === 'string' ? 1 : 0, IntVal: count, StrVal: text });
}

/** A list of strings, which messages show as 1.24 does (Go's `%#v`): `[]string{"a", "b"}`. */
export class Strings {
  readonly #values: readonly string[];
  readonly #type: string;

  /** @param type The name of the elements' type in Go. */
  constructor(values: readonly string[], type = 'string') {
    this.#values = values;
    this.#type = type;
  }

  toString(): string {
    return `[]${this.#type}{${this.#values.map(quoted).join(', ')}}`;
  }
}

/** What has no value to show. */
const noValue = Symbol('no value');

/**
 * A failure whose texts are made when somebody asks for them: of the thousands that a hostile object may have, only the
 * first are told.
 */
class Failure implements FieldFailure {
  readonly reason: string;
  readonly #path: FieldPath;
  readonly #title: string;
  readonly #value: unknown;
  readonly #detail: string;

  constructor(path: FieldPath, reason: string, title: string, detail: string, value: unknown) {
    this.reason = reason;
    this.#path = path;
    this.#title = title;
    this.#value = value;
    this.#detail = detail;
  }

  get field(): string {
    return this.#path.toString();
  }

  get message(): string {
    const title = this.#value === noValue ? this.#title : `${this.#title}: ${show(this.#value)}`;
    return this.#detail === '' ? title : `${title}: ${this.#detail}`;
  }

  toJSON(): FieldFailure {
    return { field: this.field, reason: this.reason, message: this.message };
  }
}

/** `Required value`: the field must be set. */
export function required(path: FieldPath, detail = ''): FieldFailure {
  return new Failure(path, 'FieldValueRequired', 'Required value', detail, noValue);
}

/** `Invalid value: …`: the value is malformed, out of range, or may not be changed. */
export function invalidValue(path: FieldPath, value: unknown, detail = ''): FieldFailure {
  return new Failure(path, 'FieldValueInvalid', 'Invalid value', detail, value);
}

/** The same: the value is of the wrong type, so that nothing else can be said of it. */
export function invalidType(path: FieldPath, value: unknown, detail: string): FieldFailure {
  return new Failure(path, 'FieldValueTypeInvalid', 'Invalid value', detail, value);
}

/** `Unsupported value: …`: not one of a closed set, which the message lists. */
export function notSupported(path: FieldPath, value: unknown, supported: readonly string[]): FieldFailure {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map((s) => `"${s}"`).join(', ')}`;
  return new Failure(path, 'FieldValueNotSupported', 'Unsupported value', detail, value);
}

/** `Internal error`: the check itself did not work out. */
export function internalFailure(path: FieldPath, detail: string): FieldFailure {
  return new Failure(path, 'InternalError', 'Internal error', detail, noValue);
}

/** `Forbidden`: valid elsewhere or at another time, not here and now. */
export function forbiddenField(path: FieldPath, detail = ''): FieldFailure {
  return new Failure(path, 'FieldValueForbidden', 'Forbidden', detail, noValue);
}

/** `Duplicate value: …`: must be unique in its list. */
export function duplicate(path: FieldPath, value: unknown, detail = ''): FieldFailure {
  return new Failure(path, 'FieldValueDuplicate', 'Duplicate value', detail, value);
}

/** `Not found: …`: names something that is not there. */
export function notFoundField(path: FieldPath, value: unknown): FieldFailure {
  return new Failure(path, 'FieldValueNotFound', 'Not found', '', value);
}

/** `Too long`: more than `maxBytes` bytes. */
export function tooLong(path: FieldPath, maxBytes: number): FieldFailure {
  return new Failure(path, 'FieldValueTooLong', 'Too long', `must have at most ${maxBytes} bytes`, noValue);
}

/** `Too long`, in the second wording that 1.24 uses for a few fields. */
export function tooLongMaxLength(path: FieldPath, maxLength: number | bigint): FieldFailure {
  return new Failure(path, 'FieldValueTooLong', 'Too long', `may not be longer than ${maxLength}`, noValue);
}

/** `Too many: …`: a list of more than `max` elements. */
export function tooMany(path: FieldPath, actual: number, max: number | bigint): FieldFailure {
  return new Failure(path, 'FieldValueTooMany', `Too many: ${actual}`, `must have at most ${max} items`, noValue);
}

/** One `Invalid value` per message, for the name validators that return lists of messages. */
export function invalidEach(path: FieldPath, value: unknown, messages: readonly string[]): readonly FieldFailure[] {
  return messages.length === 0 ? none : messages.map((message) => invalidValue(path, value, message));
}

/** What checks return that find nothing wrong, which is nearly always: one list, so that good objects cost no lists. */
export const none: readonly FieldFailure[] = Object.freeze([]);

/** What several checks found, in their order. */
export function joined(...parts: readonly (readonly FieldFailure[])[]): readonly FieldFailure[] {
  let found = none;
  for (const part of parts) {
    if (part.length > 0) found = found.length === 0 ? part : [...found, ...part];
  }
  return found;
}

/**
 * Puts the failures of a check behind those that are known; for the usual none of them this costs nothing. Those that
 * nobody is told of, since there are so many before them, are only counted: to keep a million costs more than to find them.
 */
export function addAll(failures: FieldFailure[], found: readonly FieldFailure[]): void {
  for (let i = 0; i < found.length; i++) {
    failures.push((failures.length > maxFailures ? failures[maxFailures] : found[i]) as FieldFailure);
  }
}
