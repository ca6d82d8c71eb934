import type { TopologySelectorTerm } from '#api/core/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import { declaration as schema } from '#api/storage/v1/storageclass.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkEnum, checkOptionalEnum, checkQualifiedName, repeatedAt } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  invalidEach,
  invalidValue,
  required,
  tooLong,
} from '#apimachinery/validation/failure.js';
import { qualifiedNameErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const maxParametersBytes = 256 * 1024;
const maxParameters = 512;

export const storageClassStrategy: Strategy<StorageClass> = kindStrategy<StorageClass>(storageclasses, {
  deletionAnswer: 'object',
  validate: (object) => validateClass(object),
  validateUpdate: (object, old) => validateFixedFields(object, old),
  cells: (object, context) => [
    `${object.metadata.name ?? ''}${isDefaultClass(object, context.dialect) ? ' (default)' : ''}`,
    object.provisioner ?? '',
    object.reclaimPolicy ?? 'Delete',
    object.volumeBindingMode ?? 'Immediate',
    object.allowVolumeExpansion ?? false,
    age(object.metadata.creationTimestamp, context.now),
  ],
});

/** Marked as the class of claims without class. */
function isDefaultClass(object: StorageClass, dialect: Dialect): boolean {
  const annotations = object.metadata.annotations ?? {};
  return ['', 'beta.'].some(
    (prefix) => annotations[`storageclass.${prefix}${dialect.labelDomain}/is-default-class`] === 'true',
  );
}

function validateClass(object: StorageClass): FieldFailure[] {
  const at = FieldPath.of('provisioner');
  const provisioner = object.provisioner ?? '';
  const wrong = qualifiedNameErrors(provisioner.toLowerCase());
  const failures = provisioner === '' ? [required(at)] : [...invalidEach(at, provisioner.toLowerCase(), wrong)];
  const parameters = Object.entries(object.parameters ?? {});
  const path = FieldPath.of('parameters');
  if (parameters.length > maxParameters) failures.push(tooLong(path, maxParameters));
  else addAll(failures, validateParameters(parameters, path));
  const policy = object.reclaimPolicy ?? '';
  if (policy !== '') addAll(failures, checkEnum(FieldPath.of('reclaimPolicy'), policy, ['Delete', 'Retain']));
  const modePath = FieldPath.of('volumeBindingMode');
  if (object.volumeBindingMode === undefined) failures.push(required(modePath));
  else addAll(failures, checkOptionalEnum(modePath, object.volumeBindingMode, schema.enums.VolumeBindingMode));
  return [...failures, ...validateTopologies(object.allowedTopologies ?? [], FieldPath.of('allowedTopologies'))];
}

function validateParameters(parameters: [key: string, value: string][], path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  let bytes = 0;
  for (const [key, value] of parameters) {
    if (key === '') failures.push(invalidValue(path, key, 'field can not be empty.'));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  return bytes > maxParametersBytes ? [...failures, tooLong(path, maxParametersBytes)] : failures;
}

/** The topology terms of volumes: terms and their keys must be unique. */
function validateTopologies(terms: readonly TopologySelectorTerm[], path: FieldPath): FieldFailure[] {
  const seen = new Set<string>();
  return terms.flatMap((term, i) => {
    const at = path.index(i).child('matchLabelExpressions');
    const failures: FieldFailure[] = [];
    const expressions = new Map<string, string>();
    term.matchLabelExpressions?.forEach(({ key = '', values = [] }, j) => {
      const here = at.index(j);
      if (values.length === 0) failures.push(required(here.child('values')));
      const repeated = repeatedAt(values);
      values.forEach((value, k) => {
        if (repeated.has(k)) failures.push(duplicate(here.child('values').index(k), value));
      });
      addAll(failures, checkQualifiedName(here.child('key'), key));
      if (expressions.has(key)) failures.push(duplicate(here.child('key'), key));
      expressions.set(key, [...new Set(values)].sort().join(','));
    });
    const text = JSON.stringify([...expressions].sort(([a], [b]) => (a < b ? -1 : 1)));
    // 1.24's list of terms begins with as many empty ones, so an empty term is always a duplicate.
    if (expressions.size === 0 || seen.has(text)) failures.push(duplicate(at, ''));
    seen.add(text);
    return failures;
  });
}

function validateFixedFields(object: StorageClass, old: StorageClass): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const field of ['parameters', 'provisioner', 'reclaimPolicy'] as const) {
    if (semanticEqual(object[field], old[field])) continue;
    failures.push(forbiddenField(FieldPath.of(field), `updates to ${field} are forbidden.`));
  }
  return failures;
}
