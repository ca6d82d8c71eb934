/** Rules of the names of a custom resource. */
import type { CustomResourceDefinitionNames } from '#api/apiextensions/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue } from '#apimachinery/validation/failure.js';
import { dns1035LabelErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** A spec needs all four names; a status may lack them at first. */
export function validateRequiredNames(names: Partial<CustomResourceDefinitionNames>, path: FieldPath): FieldFailure[] {
  const failures = (['plural', 'singular', 'kind', 'listKind'] as const).flatMap((field) =>
    checkRequired(path.child(field), names[field]),
  );
  return [...failures, ...validateNames(names, path)];
}

/** Each name must be a DNS label; kinds may have upper case letters. */
export function validateNames(names: Partial<CustomResourceDefinitionNames>, path: FieldPath): FieldFailure[] {
  const { kind = '', listKind = '', shortNames = [], categories = [] } = names;
  const failures: FieldFailure[] = [];
  for (const field of ['plural', 'singular'] as const) {
    if ((names[field] ?? '') !== '') addAll(failures, checkLabel(path.child(field), names[field] ?? ''));
  }
  for (const [field, value] of [
    ['kind', kind],
    ['listKind', listKind],
  ] as const) {
    const errors = value === '' ? [] : dns1035LabelErrors(value.toLowerCase());
    if (errors.length === 0) continue;
    const text = `may have mixed case, but should otherwise match: ${errors.join(',')}`;
    failures.push(invalidValue(path.child(field), value, text));
  }
  shortNames.forEach((name, i) => {
    addAll(failures, checkLabel(path.child('shortNames').index(i), name));
  });
  if (kind !== '' && kind === listKind) {
    failures.push(invalidValue(path.child('listKind'), listKind, 'kind and listKind may not be the same'));
  }
  categories.forEach((name, i) => {
    addAll(failures, checkLabel(path.child('categories').index(i), name));
  });
  return failures;
}

/** A DNS label that starts with a letter; reports all problems in one failure. */
export function checkLabel(path: FieldPath, value: string): FieldFailure[] {
  const errors = dns1035LabelErrors(value);
  return errors.length === 0 ? [] : [invalidValue(path, value, errors.join(','))];
}
