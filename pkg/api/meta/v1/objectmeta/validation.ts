/** Rules of metadata for all kinds. */
import { declaration as schema } from '#api/meta/v1/shared.js';
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  addAll,
  forbiddenField,
  GoValue,
  invalidEach,
  invalidValue,
  none,
  required,
  Strings,
  tooLong,
} from '#apimachinery/validation/failure.js';
import {
  dns1123LabelErrors,
  isQualifiedName,
  labelValueErrors,
  maskTrailingDash,
  type NameValidator,
  pathSegmentErrors,
  qualifiedNameErrors,
} from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

/** Total size of keys and values of annotations. */
const maxAnnotationsBytes = 256 * 1024;
const maxFieldManagerLength = 128;
const maxSubresourceLength = 256;

export interface ObjectMetaRules {
  readonly dialect: Dialect;
  /** Accepts unknown finalizers without a domain: for kinds that 1.24 validates separately. */
  readonly anyFinalizer?: boolean;
  readonly namespaced: boolean;
  readonly name: NameValidator;
}

/** Metadata of a new object with its generated name, or of an update without its old object. */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules, path: FieldPath): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  const { name = '', generateName = '', namespace = '' } = meta;
  if (generateName !== '') {
    const errors = rules.name(maskTrailingDash(generateName));
    addAll(failures, invalidEach(path.child('generateName'), generateName, errors));
  }
  if (name === '') failures.push(required(path.child('name'), 'name or generateName is required'));
  else addAll(failures, invalidEach(path.child('name'), name, rules.name(name)));
  const namespacePath = path.child('namespace');
  if (!rules.namespaced) {
    if (namespace !== '') failures.push(forbiddenField(namespacePath, 'not allowed on this type'));
  } else if (namespace === '') failures.push(required(namespacePath));
  else addAll(failures, invalidEach(namespacePath, namespace, dns1123LabelErrors(namespace)));
  addShared(failures, meta, rules, path);
  return failures;
}

/** Fields that must not change. */
const fixed = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'clusterName',
] as const;

/**
 * Metadata of an update compared with the stored object. `meta` must include the fields that the registry fills in
 * (uid, creation and deletion time, generation); the registry checks whether a resourceVersion is required.
 * `nameErrors` validates generateName, although updates generate no names.
 */
export function validateObjectMetaUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  rules: Omit<ObjectMetaRules, 'namespaced'>,
  path: FieldPath,
): readonly FieldFailure[] {
  const { name: nameErrors } = rules;
  const failures: FieldFailure[] = [];
  const { generateName = '' } = meta;
  if (generateName !== '') {
    const at = path.child('generateName');
    const name = maskTrailingDash(generateName);
    // 1.24's registry requires this of all kinds.
    if (nameErrors !== pathSegmentErrors) addAll(failures, invalidEach(at, generateName, pathSegmentErrors(name)));
    addAll(failures, invalidEach(at, generateName, nameErrors(name)));
  }
  if (old.deletionTimestamp !== undefined) addAll(failures, validateNoNewFinalizers(meta, old, path));
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    failures.push(invalidValue(path.child('generation'), meta.generation ?? 0, 'must not be decremented'));
  }
  for (const field of fixed) {
    if (semanticEqual(meta[field], old[field])) continue;
    failures.push(invalidValue(path.child(field), shownAs(field, meta[field]), 'field is immutable'));
  }
  addShared(failures, meta, rules, path);
  return failures;
}

/** Times are shown in Go's format. */
function shownAs(field: (typeof fixed)[number], value: unknown): unknown {
  if (!field.endsWith('Timestamp') || typeof value !== 'string') return value;
  return new GoValue(() => `${value.slice(0, 10)} ${value.slice(11, 19)} +0000 UTC`);
}

/** `field is immutable` if both differ. */
export function validateImmutable(value: unknown, old: unknown, path: FieldPath): readonly FieldFailure[] {
  return semanticEqual(value, old) ? none : [invalidValue(path, value, 'field is immutable')];
}

/** Keys and values of labels. */
export function validateLabels(labels: Record<string, string> | undefined, path: FieldPath): readonly FieldFailure[] {
  if (labels === undefined) return none;
  const failures: FieldFailure[] = [];
  for (const key of Object.keys(labels)) {
    const value = labels[key] ?? '';
    addAll(failures, invalidEach(path, key, qualifiedNameErrors(key)));
    addAll(failures, invalidEach(path, value, labelValueErrors(value)));
  }
  return failures;
}

/** Keys of annotations (upper case is accepted in prefixes) and their total size. */
export function validateAnnotations(
  annotations: Record<string, string> | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (annotations === undefined) return none;
  const failures: FieldFailure[] = [];
  let length = 0;
  for (const key of Object.keys(annotations)) {
    if (!isQualifiedName(key)) addAll(failures, invalidEach(path, key, qualifiedNameErrors(key.toLowerCase())));
    length += key.length + (annotations[key]?.length ?? 0);
  }
  // A character takes at most three bytes, so small texts need no exact count.
  if (3 * length > maxAnnotationsBytes && bytesOf(annotations) > maxAnnotationsBytes) {
    failures.push(tooLong(path, maxAnnotationsBytes));
  }
  return failures;
}

function bytesOf(annotations: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}

const checkGeneration = rangesOf(schema.types.ObjectMeta, 'generation');

/** Rules of new and updated metadata. */
function addShared(
  failures: FieldFailure[],
  meta: ObjectMeta,
  { dialect, anyFinalizer = false }: Pick<ObjectMetaRules, 'dialect' | 'anyFinalizer'>,
  path: FieldPath,
): void {
  addAll(failures, checkGeneration(meta, path));
  const { labels, annotations, ownerReferences, finalizers, managedFields } = meta;
  addAll(failures, validateLabels(labels, path.child('labels')));
  addAll(failures, validateAnnotations(annotations, path.child('annotations')));
  const finalizersPath = path.child('finalizers');
  if (ownerReferences !== undefined) {
    addAll(failures, validateOwnerReferences(ownerReferences, path.child('ownerReferences')));
  }
  if (finalizers !== undefined) addAll(failures, validateFinalizers(finalizers, dialect, finalizersPath));
  if (managedFields !== undefined) addAll(failures, validateManagedFields(managedFields, path.child('managedFields')));
  if (anyFinalizer) return;
  finalizers?.forEach((name, i) => {
    addAll(failures, validateKnownFinalizer(name, dialect, finalizersPath.index(i)));
  });
}

const ownerFields = ['apiVersion', 'kind', 'name', 'uid'] as const;

function validateOwnerReferences(references: readonly OwnerReference[], path: FieldPath): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  let controller: string | undefined;
  for (const reference of references) {
    for (const field of ownerFields) {
      const value = reference[field] ?? '';
      if (field === 'apiVersion' ? hasVersion(value) : value !== '') continue;
      const text = field === 'apiVersion' ? 'version' : field;
      failures.push(invalidValue(path.child(field), value, `${text} must not be empty`));
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

/** `v1`, `apps/v1`; false for a group without version, or more parts. */
function hasVersion(apiVersion: string): boolean {
  const parts = apiVersion.split('/');
  return parts.length <= 2 && parts.at(-1) !== '';
}

function validateFinalizers(finalizers: readonly string[], dialect: Dialect, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const name of finalizers) addAll(failures, invalidEach(path, name, qualifiedNameErrors(name)));
  const { orphan, foreground } = dialect.finalizers;
  if (finalizers.includes(orphan) && finalizers.includes(foreground)) {
    failures.push(invalidValue(path, finalizers, `finalizer ${orphan} and ${foreground} cannot be both set`));
  }
  return failures;
}

/** A finalizer without a domain must be a known one. */
export function validateKnownFinalizer(finalizer: string, dialect: Dialect, path: FieldPath): readonly FieldFailure[] {
  const { orphan, foreground } = dialect.finalizers;
  const own = finalizer === dialect.namespaceFinalizer || finalizer === orphan || finalizer === foreground;
  if (own || finalizer.includes('/')) return none;
  return [invalidValue(path, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')];
}

function validateNoNewFinalizers(meta: ObjectMeta, old: ObjectMeta, path: FieldPath): readonly FieldFailure[] {
  const oldFinalizers = new Set(old.finalizers);
  const extra = (meta.finalizers ?? []).filter((finalizer) => !oldFinalizers.has(finalizer)).sort();
  if (extra.length === 0) return none;
  const text = `no new finalizers can be added if the object is being deleted, found new finalizers ${new Strings(extra).toString()}`;
  return [forbiddenField(path.child('finalizers'), text)];
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[], path: FieldPath): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  entries.forEach((entry, i) => {
    const at = path.index(i);
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') {
      failures.push(invalidValue(at.child('operation'), entry.operation ?? '', 'must be `Apply` or `Update`'));
    }
    if ((entry.fieldsType ?? '') !== '' && entry.fieldsType !== 'FieldsV1') {
      failures.push(invalidValue(at.child('fieldsType'), entry.fieldsType, 'must be `FieldsV1`'));
    }
    addAll(failures, validateFieldManager(entry.manager ?? '', at.child('manager')));
    if ((entry.subresource ?? '').length > maxSubresourceLength) {
      failures.push(tooLong(at.child('subresource'), maxSubresourceLength));
    }
  });
  return failures;
}

/** Printable single-byte characters, as in nearly all names of managers. */
const plainText = /^[ -~]*$/;

/** Name of a field manager, in metadata and as a request option. */
function validateFieldManager(manager: string, path: FieldPath): readonly FieldFailure[] {
  if (manager.length <= maxFieldManagerLength && plainText.test(manager)) return none;
  const failures: FieldFailure[] = [];
  if (Buffer.byteLength(manager) > maxFieldManagerLength) failures.push(tooLong(path, maxFieldManagerLength));
  if (/[\p{C}\u2028\u2029]/u.test(manager)) {
    failures.push(invalidValue(path, manager, 'should only contain printable characters'));
  }
  return failures;
}
