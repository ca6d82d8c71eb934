/** Constructors of field failures with the messages of 1.24. The `Invalid` status puts the path before the message. */

import { goFloat } from '#apimachinery/errors/go-value.js';
import { cut, hexBytes, quoted, shownJson } from '#apimachinery/errors/message-values.js';
import { type FieldFailure, maxFailures } from '#apimachinery/errors/status.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
}

/** Formats a refused value: quoted strings, plain numbers and booleans, lists of strings like Go, others as JSON. */
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

/** A value in Go syntax (`%#v`), as messages of 1.24 show values of named types. */
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

/** A message with Go field names: `rbac.RoleRef{APIGroup:"", Kind:"Role"}`. */
export function goStruct(type: string, members: Readonly<Record<string, unknown>>): GoValue {
  return new GoValue(() => {
    const shown = Object.entries(members).map(([name, value]) => `${name}:${show(value)}`);
    return `${type}{${shown.join(', ')}}`;
  });
}

/** A nil value: `(*core.ExecAction)(nil)`, `[]networking.IngressRule(nil)`. */
export function goNil(type: string): GoValue {
  return new GoValue(() => `${type.startsWith('*') ? `(${type})` : type}(nil)`);
}

/** Bytes from base64: `[]byte{0x61}`. */
export function goBytes(base64: string | undefined): GoValue {
  if (base64 === undefined) return goNil('[]byte');
  return new GoValue(() => cut(`[]byte{${hexBytes(base64)}}`));
}

/** A count or percentage. */
export function goIntOrString(value: string | number): GoValue {
  const [text, count] = typeof value === 'string' ? [value, 0] : ['', value];
  return goStruct('intstr.IntOrString', { Type: typeof value === 'string' ? 1 : 0, IntVal: count, StrVal: text });
}

/** A list of strings in Go syntax (`%#v`): `[]string{"a", "b"}`. */
export class Strings {
  readonly #values: readonly string[];
  readonly #type: string;

  /** @param type The Go type of the elements. */
  constructor(values: readonly string[], type = 'string') {
    this.#values = values;
    this.#type = type;
  }

  toString(): string {
    return `[]${this.#type}{${this.#values.map(quoted).join(', ')}}`;
  }
}

/** Marks a failure without value. */
const noValue = Symbol('no value');

/** Formats its message on demand: of the thousands of failures of a hostile object, only the first are reported. */
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

/** `Invalid value: …`: the value is malformed, out of range, or must not change. */
export function invalidValue(path: FieldPath, value: unknown, detail = ''): FieldFailure {
  return new Failure(path, 'FieldValueInvalid', 'Invalid value', detail, value);
}

/** `Invalid value: …`: the value has the wrong type, which prevents further checks. */
export function invalidType(path: FieldPath, value: unknown, detail: string): FieldFailure {
  return new Failure(path, 'FieldValueTypeInvalid', 'Invalid value', detail, value);
}

/** `Unsupported value: …`: not one of the values that the message lists. */
export function notSupported(path: FieldPath, value: unknown, supported: readonly string[]): FieldFailure {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map((s) => `"${s}"`).join(', ')}`;
  return new Failure(path, 'FieldValueNotSupported', 'Unsupported value', detail, value);
}

/** `Internal error`: the check itself failed. */
export function internalFailure(path: FieldPath, detail: string): FieldFailure {
  return new Failure(path, 'InternalError', 'Internal error', detail, noValue);
}

/** `Forbidden`: valid in other circumstances, but not here. */
export function forbiddenField(path: FieldPath, detail = ''): FieldFailure {
  return new Failure(path, 'FieldValueForbidden', 'Forbidden', detail, noValue);
}

/** `Duplicate value: …`: must be unique in its list. */
export function duplicate(path: FieldPath, value: unknown, detail = ''): FieldFailure {
  return new Failure(path, 'FieldValueDuplicate', 'Duplicate value', detail, value);
}

/** `Not found: …`: refers to something that does not exist. */
export function notFoundField(path: FieldPath, value: unknown): FieldFailure {
  return new Failure(path, 'FieldValueNotFound', 'Not found', '', value);
}

/** `Too long`: more than `maxBytes` bytes. */
export function tooLong(path: FieldPath, maxBytes: number): FieldFailure {
  return new Failure(path, 'FieldValueTooLong', 'Too long', `must have at most ${maxBytes} bytes`, noValue);
}

/** `Too long`, in the other wording of 1.24 for a few fields. */
export function tooLongMaxLength(path: FieldPath, maxLength: number | bigint): FieldFailure {
  return new Failure(path, 'FieldValueTooLong', 'Too long', `may not be longer than ${maxLength}`, noValue);
}

/** `Too many: …`: a list with more than `max` elements. */
export function tooMany(path: FieldPath, actual: number, max: number | bigint): FieldFailure {
  return new Failure(path, 'FieldValueTooMany', `Too many: ${actual}`, `must have at most ${max} items`, noValue);
}

/** One `Invalid value` per message of a name validator. */
export function invalidEach(path: FieldPath, value: unknown, messages: readonly string[]): readonly FieldFailure[] {
  return messages.length === 0 ? none : messages.map((message) => invalidValue(path, value, message));
}

/** The shared empty result, so that valid objects allocate no lists. */
export const none: readonly FieldFailure[] = Object.freeze([]);

/** Concatenates the failures of several checks. */
export function joined(...parts: readonly (readonly FieldFailure[])[]): readonly FieldFailure[] {
  let failures = none;
  for (const part of parts) {
    if (part.length > 0) failures = failures.length === 0 ? part : [...failures, ...part];
  }
  return failures;
}

/**
 * Appends the failures of a check; costs nothing if there are none. Failures beyond the reported number are only
 * counted: storing a million costs more than finding them.
 */
export function addAll(failures: FieldFailure[], added: readonly FieldFailure[]): void {
  for (let i = 0; i < added.length; i++) {
    failures.push((failures.length > maxFailures ? failures[maxFailures] : added[i]) as FieldFailure);
  }
}
