/** Rules of a claim's spec, including claim templates. */

import { declaration as schema } from '#api/core/v1/persistentvolume.js';
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  TypedLocalObjectReference,
} from '#api/core/v1/types.gen.js';
import { accessModes } from '#api/core/v1/volume/access-modes.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import { validateAnnotations, validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { quantitySign } from '#apimachinery/quantity.js';
import { checkDNSSubdomain, checkOptionalEnum, checkRequired } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** Must be positive: sizes of volumes. */
export function checkPositiveQuantity(path: FieldPath, quantity: string): FieldFailure[] {
  return quantitySign(quantity) > 0 ? [] : [invalidValue(path, quantity, 'must be greater than zero')];
}

/** Access modes of a volume or claim; the caller checks whether there must be any. */
export function validateAccessModes(
  modes: readonly string[],
  allowedModes: readonly string[],
  path: FieldPath,
): FieldFailure[] {
  const supported = [...allowedModes].sort();
  const failures = modes
    .filter((mode) => !allowedModes.includes(mode))
    .map((mode) => notSupported(path, mode, supported));
  const single = 'ReadWriteOncePod';
  const others = modes.some((mode) => mode !== single && (accessModes as readonly string[]).includes(mode));
  if (!modes.includes(single) || !others) return failures;
  return [...failures, forbiddenField(path, 'may not use ReadWriteOncePod with other access modes')];
}

/** `allowedModes`: the allowed access modes. */
export function validateClaimSpec(
  spec: PersistentVolumeClaimSpec,
  path: FieldPath,
  allowedModes: readonly string[] = accessModes,
): FieldFailure[] {
  const { accessModes: modes = [], dataSource, dataSourceRef } = spec;
  const modesPath = path.child('accessModes');
  const storage = spec.resources?.requests?.['storage'];
  const storagePath = path.child('resources').key('storage');
  const storageClass = spec.storageClassName ?? '';
  const failures = [
    ...(modes.length === 0 ? [required(modesPath, 'at least 1 access mode is required')] : []),
    ...validateLabelSelector(spec.selector, path.child('selector')),
    ...validateAccessModes(modes, allowedModes, modesPath),
    ...(storage === undefined ? [required(storagePath)] : checkPositiveQuantity(storagePath, storage)),
    ...(storageClass === '' ? [] : checkDNSSubdomain(path.child('storageClassName'), storageClass)),
    ...checkOptionalEnum(path.child('volumeMode'), spec.volumeMode, schema.enums.PersistentVolumeMode),
  ];
  if (dataSource !== undefined) addAll(failures, validateDataSource(dataSource, path.child('dataSource')));
  if (dataSourceRef !== undefined) addAll(failures, validateDataSource(dataSourceRef, path.child('dataSourceRef')));
  if (dataSource !== undefined && dataSourceRef !== undefined && !semanticEqual(dataSource, dataSourceRef)) {
    failures.push(invalidValue(path, path.child('dataSource').toString(), 'must match dataSourceRef'));
  }
  return failures;
}

/** Without an API group only claims can be cloned. */
function validateDataSource(source: TypedLocalObjectReference, path: FieldPath): FieldFailure[] {
  const failures = [
    ...checkRequired(path.child('name'), source.name),
    ...checkRequired(path.child('kind'), source.kind),
  ];
  if ((source.apiGroup ?? '') === '' && source.kind !== 'PersistentVolumeClaim') {
    failures.push(invalidValue(path, source.kind ?? ''));
  }
  return failures;
}

/** A claim template: of its metadata only labels and annotations are allowed. */
export function validateClaimTemplate(
  template: PersistentVolumeClaimTemplate,
  path: FieldPath,
  allowedModes: readonly string[],
): FieldFailure[] {
  const at = path.child('metadata');
  const { labels, annotations, ...others } = template.metadata ?? {};
  const set = Object.entries(others).filter(([, value]) => value !== undefined && value !== '');
  return [
    ...validateAnnotations(annotations, at.child('annotations')),
    ...validateLabels(labels, at.child('labels')),
    ...set.map(([field]) => forbiddenField(at.child(field), 'cannot be set for an ephemeral volume')),
    ...validateClaimSpec(template.spec ?? {}, path.child('spec'), allowedModes),
  ];
}
