/**
 * Constructors of field failures, in the wording of release 1.24. The path is not part of the message; the
 * `Invalid` status joins the two.
 */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** How a refused value is shown: strings quoted, numbers and booleans plain, everything else as JSON. */
function show(value: unknown): string {
  if (value === undefined || value === null) return '"null"';
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  return JSON.stringify(value) ?? '"null"';
}

function make(path: FieldPath, reason: string, title: string, detail: string): FieldFailure {
  return { field: path.toString(), reason, message: detail === '' ? title : `${title}: ${detail}` };
}

/** `Required value`: the field must be set. */
export function required(path: FieldPath, detail = ''): FieldFailure {
  return make(path, 'FieldValueRequired', 'Required value', detail);
}

/** `Invalid value: …`: the value is malformed, out of range, or may not be changed. */
export function invalidValue(path: FieldPath, value: unknown, detail = ''): FieldFailure {
  return make(path, 'FieldValueInvalid', `Invalid value: ${show(value)}`, detail);
}

/** `Unsupported value: …`: not one of a closed set, which the message lists. */
export function notSupported(path: FieldPath, value: unknown, supported: readonly string[]): FieldFailure {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map((s) => `"${s}"`).join(', ')}`;
  return make(path, 'FieldValueNotSupported', `Unsupported value: ${show(value)}`, detail);
}

/** `Forbidden`: valid elsewhere or at another time, not here and now. */
export function forbiddenField(path: FieldPath, detail = ''): FieldFailure {
  return make(path, 'FieldValueForbidden', 'Forbidden', detail);
}

/** `Duplicate value: …`: must be unique in its list. */
export function duplicate(path: FieldPath, value: unknown, detail = ''): FieldFailure {
  return make(path, 'FieldValueDuplicate', `Duplicate value: ${show(value)}`, detail);
}

/** `Not found: …`: names something that is not there. */
export function notFoundField(path: FieldPath, value: unknown): FieldFailure {
  return make(path, 'FieldValueNotFound', `Not found: ${show(value)}`, '');
}

/** `Too long`: more than `maxBytes` bytes. */
export function tooLong(path: FieldPath, maxBytes: number): FieldFailure {
  return make(path, 'FieldValueTooLong', 'Too long', `must have at most ${maxBytes} bytes`);
}

/** `Too long`, in the second wording that 1.24 uses for a few fields. */
export function tooLongMaxLength(path: FieldPath, maxLength: number): FieldFailure {
  return make(path, 'FieldValueTooLong', 'Too long', `may not be longer than ${maxLength}`);
}

/** `Too many: …`: a list of more than `max` elements. */
export function tooMany(path: FieldPath, actual: number, max: number): FieldFailure {
  return make(path, 'FieldValueTooMany', `Too many: ${actual}`, `must have at most ${max} items`);
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

/** Puts the failures of a check behind those that are known; for the usual none of them this costs nothing. */
export function addAll(failures: FieldFailure[], found: readonly FieldFailure[]): void {
  for (let i = 0; i < found.length; i++) failures.push(found[i] as FieldFailure);
}
