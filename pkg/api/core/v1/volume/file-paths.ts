/** Rules of file names inside specs. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import type { RangeWording } from '#apimachinery/validation/ranges.js';

/** A relative path that stays below where it starts. */
export function relativeDescending(path: FieldPath, value: string): readonly FieldFailure[] {
  const failures = checkNoBacksteps(path, value);
  return value.startsWith('/') ? [invalidValue(path, value, 'must be a relative path'), ...failures] : failures;
}

/** No `..` among the path's parts. */
export function checkNoBacksteps(path: FieldPath, value: string): readonly FieldFailure[] {
  if (!value.includes('..') || !value.split('/').includes('..')) return none;
  return [invalidValue(path, value, "must not contain '..'")];
}

/** A relative path of a file in a volume; leading dots are kept for the volume's own bookkeeping. */
export function relativeFile(path: FieldPath, value: string): readonly FieldFailure[] {
  const failures = relativeDescending(path, value);
  if (!value.startsWith('..') || value.startsWith('../')) return failures;
  return [...failures, invalidValue(path, value, "must not start with '..'")];
}

/** How 1.24 speaks of permission bits of files. */
export const modeWording: RangeWording = () => 'must be a number between 0 and 0777 (octal), both inclusive';
