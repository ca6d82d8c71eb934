/** Rules of updates of claims and their status. */

import { checkBasicQuantity } from '#api/core/v1/persistentvolume/validation.js';
import { alignDataSources } from '#api/core/v1/persistentvolumeclaim/data-source.js';
import { declaration as schema } from '#api/core/v1/persistentvolumeclaim.js';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '#api/core/v1/types.gen.js';
import { storageClassAnnotation } from '#api/core/v1/volume/storage-class.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Replaceable } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import { checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');

/** An unbound claim may get a volume, a bound one may grow, and the older annotation may become a field. */
export function validateClaimUpdate(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  { dialect, gate }: Pick<StrategyContext, 'dialect' | 'gate'>,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const spec: Replaceable<PersistentVolumeClaimSpec> = { ...claim.spec };
  const before: Replaceable<PersistentVolumeClaimSpec> = { ...old.spec };
  // A claim stored with only one of the two fields counts as having both.
  if (gate('AnyVolumeDataSource')) alignDataSources(before);
  if ((before.volumeName ?? '') === '') {
    if (spec.volumeName === undefined) delete before.volumeName;
    else before.volumeName = spec.volumeName;
  }
  if (movesClassToField(claim, old, dialect)) delete spec.storageClassName;
  else addAll(failures, validateSameClassAnnotation(claim, old, dialect));
  const size = claim.spec.resources?.requests?.['storage'] ?? '0';
  const oldSize = old.spec.resources?.requests?.['storage'];
  if (claim.status?.phase === 'Bound' && spec.resources?.requests !== undefined && oldSize !== undefined) {
    spec.resources = { ...spec.resources, requests: { ...spec.resources.requests, storage: oldSize } };
  }
  if (!semanticEqual(spec, before)) {
    const text = 'spec is immutable after creation except resources.requests for bound claims';
    failures.push(forbiddenField(specPath, text));
  }
  // A claim without size counts as smaller than any size.
  if (oldSize !== undefined && compareQuantities(size, oldSize) < 0) {
    addAll(failures, validateShrinking(size, old, gate('RecoverVolumeExpansionFailure')));
  }
  return [...failures, ...validateImmutable(claim.spec.volumeMode, old.spec.volumeMode, FieldPath.of('volumeMode'))];
}

/** Volumes never shrink; a failed expansion may be reduced again, but not below the actual capacity. */
function validateShrinking(size: string, old: PersistentVolumeClaim, recover: boolean): FieldFailure[] {
  const at = specPath.child('resources', 'requests', 'storage');
  if (!recover) return [forbiddenField(at, 'field can not be less than previous value')];
  const capacity = old.status?.capacity?.['storage'] ?? '0';
  return compareQuantities(size, capacity) > 0
    ? []
    : [forbiddenField(at, 'field can not be less than status.capacity')];
}

/** The class was only in the annotation and is now also in the field. */
function movesClassToField(claim: PersistentVolumeClaim, old: PersistentVolumeClaim, dialect: Dialect): boolean {
  const key = storageClassAnnotation(dialect);
  const before = old.metadata.annotations?.[key];
  const now = claim.metadata.annotations?.[key];
  return (
    before !== undefined &&
    old.spec.storageClassName === undefined &&
    claim.spec.storageClassName === before &&
    (now === undefined || now === before)
  );
}

function validateSameClassAnnotation(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  dialect: Dialect,
): FieldFailure[] {
  const key = storageClassAnnotation(dialect);
  const now = claim.metadata.annotations?.[key] ?? '';
  if (now === (old.metadata.annotations?.[key] ?? '')) return [];
  return [invalidValue(FieldPath.of('metadata', 'annotations', key), now, 'field is immutable')];
}

export function validateClaimStatus(
  claim: PersistentVolumeClaim,
  { gate }: Pick<StrategyContext, 'gate'>,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if ((claim.spec.accessModes ?? []).length === 0) failures.push(required(FieldPath.of('Spec', 'accessModes')));
  for (const [name, quantity] of Object.entries(claim.status?.capacity ?? {})) {
    addAll(failures, checkBasicQuantity(statusPath.child('capacity').key(name), quantity));
  }
  if (!gate('RecoverVolumeExpansionFailure')) return failures;
  addAll(
    failures,
    checkOptionalEnum(
      statusPath.child('resizeStatus'),
      claim.status?.resizeStatus,
      schema.enums.PersistentVolumeClaimResizeStatus,
    ),
  );
  const at = statusPath.child('allocatedResources');
  for (const [name, quantity] of Object.entries(claim.status?.allocatedResources ?? {})) {
    if (name !== 'storage') failures.push(notSupported(at, name, ['storage']));
    else addAll(failures, checkBasicQuantity(at.key(name), quantity));
  }
  return failures;
}
