/** What is particular to persistent volume claims. */
import { accessModes, formatAccessModes, knownAccessModes } from '#api/core/v1/persistentvolume/access-modes.js';
import { defaultClaim } from '#api/core/v1/persistentvolumeclaim/defaults.js';
import { checkNonNegativeQuantity } from '#api/core/v1/pod/validation/resources.js';
import { persistentvolumeclaims } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '#api/core/v1/types.gen.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import type { TableRowCells } from '#api/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import { checkDNSSubdomain, checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { forbiddenField, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');

export const persistentVolumeClaimStrategy: Strategy<PersistentVolumeClaim> = kindStrategy<PersistentVolumeClaim>(
  persistentvolumeclaims,
  {
    defaults: (claim) => defaultClaim(claim),
    prepareForCreate(claim) {
      claim.status = { phase: 'Pending' };
    },
    validate: (claim, context, old) =>
      validateClaimSpec(claim.spec, specPath, knownAccessModes(context.gate, old?.spec.accessModes)),
    validateUpdate: (claim, old) => validateFixedFields(claim, old),
    cells: (claim, context) => claimCells(claim, context.now),
  },
);

/** Rules of a claim, also of one made from a template. */
export function validateClaimSpec(
  spec: PersistentVolumeClaimSpec,
  path: FieldPath,
  known: readonly string[] = accessModes,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const modes = spec.accessModes ?? [];
  const modesPath = path.child('accessModes');
  if (modes.length === 0) failures.push(required(modesPath, 'at least 1 access mode is required'));
  failures.push(...validateLabelSelector(spec.selector, path.child('selector')));
  for (const mode of modes) if (!known.includes(mode)) failures.push(notSupported(modesPath, mode, known));
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    failures.push(forbiddenField(modesPath, 'may not use ReadWriteOncePod with other access modes'));
  }
  const storage = spec.resources?.requests?.['storage'];
  const storagePath = path.child('resources').key('storage');
  if (storage === undefined) failures.push(required(storagePath));
  else failures.push(...checkNonNegativeQuantity(storagePath, storage));
  const storageClass = spec.storageClassName ?? '';
  if (storageClass !== '') failures.push(...checkDNSSubdomain(path.child('storageClassName'), storageClass));
  return [...failures, ...checkOptionalEnum(path.child('volumeMode'), spec.volumeMode, ['Block', 'Filesystem'])];
}

function validateFixedFields(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const bound = old.status?.phase === 'Bound';
  /** An unbound claim may get a volume, a bound one may grow. */
  const comparable = (spec: PersistentVolumeClaimSpec): object => ({
    ...spec,
    volumeName: (old.spec.volumeName ?? '') === '' ? '' : (spec.volumeName ?? ''),
    resources: bound ? { ...spec.resources, requests: undefined } : spec.resources,
  });
  if (!semanticEqual(comparable(claim.spec), comparable(old.spec))) {
    const text = 'spec is immutable after creation except resources.requests for bound claims';
    failures.push(forbiddenField(specPath, text));
  }
  const before = old.spec.resources?.requests?.['storage'];
  const after = claim.spec.resources?.requests?.['storage'];
  if (bound && before !== undefined && after !== undefined && compareQuantities(after, before) < 0) {
    failures.push(
      forbiddenField(specPath.child('resources', 'requests', 'storage'), 'field can not be less than previous value'),
    );
  }
  return failures;
}

function claimCells(claim: PersistentVolumeClaim, now: number): TableRowCells {
  const { metadata, spec, status } = claim;
  const bound = (spec.volumeName ?? '') !== '';
  return [
    metadata.name ?? '',
    metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
    spec.volumeName ?? '',
    bound ? (status?.capacity?.['storage'] ?? '') : '',
    bound ? formatAccessModes(status?.accessModes) : '',
    spec.storageClassName ?? '',
    age(metadata.creationTimestamp, now),
    spec.volumeMode ?? '<unset>',
  ];
}
