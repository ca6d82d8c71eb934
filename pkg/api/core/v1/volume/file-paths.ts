/** Rules of file paths. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import type { RangeWording } from '#apimachinery/validation/ranges.js';

/** A relative path that stays below its start. */
export function relativeDescending(path: FieldPath, value: string): readonly FieldFailure[] {
  const failures = checkNoBacksteps(path, value);
  return value.startsWith('/') ? [invalidValue(path, value, 'must be a relative path'), ...failures] : failures;
}

/** Must not contain `..` as a part. */
export function checkNoBacksteps(path: FieldPath, value: string): readonly FieldFailure[] {
  if (!value.includes('..') || !value.split('/').includes('..')) return none;
  return [invalidValue(path, value, "must not contain '..'")];
}

/** A relative file path in a volume; names that begin with two dots are reserved for the volume's own files. */
export function relativeFile(path: FieldPath, value: string): readonly FieldFailure[] {
  const failures = relativeDescending(path, value);
  if (!value.startsWith('..') || value.startsWith('../')) return failures;
  return [...failures, invalidValue(path, value, "must not start with '..'")];
}

/** The message of 1.24 for file modes. */
export const modeWording: RangeWording = () => 'must be a number between 0 and 0777 (octal), both inclusive';
