/** Rules of file names inside specs. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** A relative path that stays below where it starts. */
export function relativeDescending(path: FieldPath, value: string): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (value.startsWith('/')) failures.push(invalidValue(path, value, 'must be a relative path'));
  failures.push(...checkNoBacksteps(path, value));
  return failures;
}

/** No `..` among the path's parts. */
export function checkNoBacksteps(path: FieldPath, value: string): FieldFailure[] {
  return value.split('/').includes('..') ? [invalidValue(path, value, "must not contain '..'")] : [];
}

/** A relative path of a file in a volume; leading dots are kept for the volume's own bookkeeping. */
export function relativeFile(path: FieldPath, value: string): FieldFailure[] {
  const failures = relativeDescending(path, value);
  if (value.startsWith('..') && !value.startsWith('../')) {
    failures.push(invalidValue(path, value, "must not start with '..'"));
  }
  return failures;
}

/** Permission bits of a file. */
export function checkFileMode(path: FieldPath, mode: number | undefined): FieldFailure[] {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return [];
  return [invalidValue(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive')];
}
