/** Rules that config maps and secrets share: keys, total size, immutability. */
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, forbiddenField, invalidEach, none } from '#apimachinery/validation/failure.js';
import { configKeyErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Total size of all values. */
export const maxDataBytes = 1024 * 1024;

export type DataMap = Readonly<Record<string, string>>;

export function validateDataKeys(data: DataMap | undefined, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const key in data) addAll(failures, validateDataKey(key, path));
  return failures;
}

export function validateDataKey(key: string, path: FieldPath): readonly FieldFailure[] {
  const errors = configKeyErrors(key);
  return errors.length === 0 ? none : invalidEach(path.key(key), key, errors);
}

/** The decoded length of a base64 text. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((text.length * 3) / 4) - padding);
}

/** Immutable data must stay immutable and unchanged. */
export function validateImmutableData<T extends { immutable?: boolean }>(
  object: T,
  old: T,
  fields: readonly (keyof T & string)[],
): FieldFailure[] {
  if (old.immutable !== true) return [];
  const text = 'field is immutable when `immutable` is set';
  const failures: FieldFailure[] = [];
  if (object.immutable !== true) failures.push(forbiddenField(FieldPath.of('immutable'), text));
  for (const field of fields) {
    if (!semanticEqual(object[field], old[field])) failures.push(forbiddenField(FieldPath.of(field), text));
  }
  return failures;
}
