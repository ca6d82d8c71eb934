/** Rules of metadata, the same for every kind. */
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, invalidEach, invalidValue, required, tooLong } from '#apimachinery/validation/failure.js';
import {
  dns1123LabelErrors,
  labelValueErrors,
  maskTrailingDash,
  type NameValidator,
  qualifiedNameErrors,
} from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** All keys and values of annotations together. */
export const maxAnnotationsBytes = 256 * 1024;
const maxFieldManagerLength = 128;
const maxSubresourceLength = 256;

export interface ObjectMetaRules {
  readonly dialect: Dialect;
  readonly namespaced: boolean;
  readonly name: NameValidator;
}

/** Metadata of an object about to be created (its name already generated), or of an update as far as it stands alone. */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const { name = '', generateName = '', namespace = '' } = meta;
  if (generateName !== '') {
    failures.push(...invalidEach(path.child('generateName'), generateName, rules.name(maskTrailingDash(generateName))));
  }
  if (name === '') failures.push(required(path.child('name'), 'name or generateName is required'));
  else failures.push(...invalidEach(path.child('name'), name, rules.name(name)));
  const namespacePath = path.child('namespace');
  if (!rules.namespaced) {
    if (namespace !== '') failures.push(forbiddenField(namespacePath, 'not allowed on this type'));
  } else if (namespace === '') failures.push(required(namespacePath));
  else failures.push(...invalidEach(namespacePath, namespace, dns1123LabelErrors(namespace)));
  failures.push(...validateShared(meta, rules.dialect, path));
  failures.push(...validateKnownFinalizers(meta, rules.dialect, path.child('finalizers')));
  return failures;
}

/**
 * Metadata of an update against what is stored. `meta` must already carry what the registry fills in for a client
 * (uid, creation and deletion time, generation); whether a resourceVersion was needed is the registry's business.
 */
export function validateObjectMetaUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  dialect: Dialect,
  path: FieldPath,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (old.deletionTimestamp !== undefined) failures.push(...validateNoNewFinalizers(meta, old, path));
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    failures.push(invalidValue(path.child('generation'), meta.generation ?? 0, 'must not be decremented'));
  }
  const fixed = [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'clusterName',
  ] as const;
  for (const field of fixed) failures.push(...validateImmutable(meta[field], old[field], path.child(field)));
  failures.push(...validateShared(meta, dialect, path));
  failures.push(...validateKnownFinalizers(meta, dialect, path.child('finalizers')));
  return failures;
}

/** `field is immutable` when the two differ. */
export function validateImmutable(value: unknown, old: unknown, path: FieldPath): FieldFailure[] {
  return semanticEqual(value, old) ? [] : [invalidValue(path, value, 'field is immutable')];
}

/** Keys and values of labels. */
export function validateLabels(labels: Record<string, string> | undefined, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [key, value] of Object.entries(labels ?? {})) {
    failures.push(
      ...invalidEach(path, key, qualifiedNameErrors(key)),
      ...invalidEach(path, value, labelValueErrors(value)),
    );
  }
  return failures;
}

/** Keys of annotations (upper case is accepted in prefixes) and their total size. */
export function validateAnnotations(annotations: Record<string, string> | undefined, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    failures.push(...invalidEach(path, key, qualifiedNameErrors(key.toLowerCase())));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > maxAnnotationsBytes) failures.push(tooLong(path, maxAnnotationsBytes));
  return failures;
}

function validateShared(meta: ObjectMeta, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if ((meta.generation ?? 0) < 0) {
    failures.push(invalidValue(path.child('generation'), meta.generation, 'must be greater than or equal to 0'));
  }
  failures.push(
    ...validateLabels(meta.labels, path.child('labels')),
    ...validateAnnotations(meta.annotations, path.child('annotations')),
    ...validateOwnerReferences(meta.ownerReferences ?? [], path.child('ownerReferences')),
    ...validateFinalizers(meta.finalizers ?? [], dialect, path.child('finalizers')),
    ...validateManagedFields(meta.managedFields ?? [], path.child('managedFields')),
  );
  return failures;
}

function validateOwnerReferences(references: OwnerReference[], path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  let controller: string | undefined;
  for (const reference of references) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      const text = field === 'apiVersion' ? 'version' : field;
      if ((reference[field] ?? '') === '')
        failures.push(invalidValue(path.child(field), '', `${text} must not be empty`));
    }
    if (reference.apiVersion === 'v1' && reference.kind === 'Event') {
      failures.push(invalidValue(path, reference, '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (reference.controller !== true) continue;
    if (controller !== undefined) {
      const text = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${reference.name}`;
      failures.push(invalidValue(path, references, text));
    }
    controller ??= reference.name;
  }
  return failures;
}

function validateFinalizers(finalizers: string[], dialect: Dialect, path: FieldPath): FieldFailure[] {
  const failures = finalizers.flatMap((finalizer) => invalidEach(path, finalizer, qualifiedNameErrors(finalizer)));
  const { orphan, foreground } = dialect.finalizers;
  if (finalizers.includes(orphan) && finalizers.includes(foreground)) {
    failures.push(invalidValue(path, finalizers, `finalizer ${orphan} and ${foreground} cannot be both set`));
  }
  return failures;
}

function validateKnownFinalizers(meta: ObjectMeta, dialect: Dialect, path: FieldPath): FieldFailure[] {
  return (meta.finalizers ?? []).flatMap((name, i) => validateKnownFinalizer(name, dialect, path.index(i)));
}

/** A finalizer without a domain must be one of the system's own. */
export function validateKnownFinalizer(finalizer: string, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const own: string[] = [dialect.namespaceFinalizer, dialect.finalizers.orphan, dialect.finalizers.foreground];
  if (finalizer.includes('/') || own.includes(finalizer)) return [];
  return [invalidValue(path, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')];
}

function validateNoNewFinalizers(meta: ObjectMeta, old: ObjectMeta, path: FieldPath): FieldFailure[] {
  const known = new Set(old.finalizers);
  const extra = (meta.finalizers ?? []).filter((finalizer) => !known.has(finalizer)).sort();
  if (extra.length === 0) return [];
  const list = `[]string{${extra.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
  const text = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
  return [forbiddenField(path.child('finalizers'), text)];
}

function validateManagedFields(entries: ManagedFieldsEntry[], path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  entries.forEach((entry, i) => {
    const at = path.index(i);
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') {
      failures.push(invalidValue(at.child('operation'), entry.operation ?? '', 'must be `Apply` or `Update`'));
    }
    if ((entry.fieldsType ?? '') !== '' && entry.fieldsType !== 'FieldsV1') {
      failures.push(invalidValue(at.child('fieldsType'), entry.fieldsType, 'must be `FieldsV1`'));
    }
    failures.push(...validateFieldManager(entry.manager ?? '', at.child('manager')));
    if ((entry.subresource ?? '').length > maxSubresourceLength) {
      failures.push(tooLong(at.child('subresource'), maxSubresourceLength));
    }
  });
  return failures;
}

/** Name of a field manager, in metadata and as a request option. */
export function validateFieldManager(manager: string, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (Buffer.byteLength(manager) > maxFieldManagerLength) failures.push(tooLong(path, maxFieldManagerLength));
  if (/[\p{C}\u2028\u2029]/u.test(manager)) {
    failures.push(invalidValue(path, manager, 'should only contain printable characters'));
  }
  return failures;
}
