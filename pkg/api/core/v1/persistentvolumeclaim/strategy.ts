import { alignDataSources, dropUnknownDataSource } from '#api/core/v1/persistentvolumeclaim/data-source.js';
import { validateClaimStatus, validateClaimUpdate } from '#api/core/v1/persistentvolumeclaim/validation.js';
import { persistentvolumeclaims } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { allowedAccessModes, formatAccessModes } from '#api/core/v1/volume/access-modes.js';
import { validateClaimSpec } from '#api/core/v1/volume/claim-validation.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');

export const persistentVolumeClaimStrategy: Strategy<PersistentVolumeClaim> = kindStrategy<PersistentVolumeClaim>(
  persistentvolumeclaims,
  {
    deletionAnswer: 'object',
    prepareForCreate(claim, { dialect, gate }) {
      claim.status = { phase: 'Pending' };
      dropUnknownDataSource(claim.spec, undefined, dialect);
      if (gate('AnyVolumeDataSource')) alignDataSources(claim.spec);
    },
    prepareForUpdate(claim, old, { dialect, gate }) {
      dropUnknownDataSource(claim.spec, old.spec, dialect);
      // Older clients know only one of the fields and omit the other.
      if (gate('AnyVolumeDataSource')) alignDataSources(claim.spec);
    },
    validate: (claim, context, old) =>
      validateClaimSpec(claim.spec, specPath, allowedAccessModes(context.gate, old?.spec.accessModes)),
    validateUpdate: validateClaimUpdate,
    validateStatusUpdate: (claim, _old, context) => validateClaimStatus(claim, context),
    cells: (claim, context) => claimCells(claim, context),
  },
);

function claimCells(claim: PersistentVolumeClaim, { dialect, now }: StrategyContext): TableRowCells {
  const { metadata, spec, status } = claim;
  const bound = (spec.volumeName ?? '') !== '';
  return [
    metadata.name ?? '',
    metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
    spec.volumeName ?? '',
    bound ? (status?.capacity?.['storage'] ?? '0') : '',
    bound ? formatAccessModes(status?.accessModes) : '',
    storageClassOf(claim, dialect),
    age(metadata.creationTimestamp, now),
    spec.volumeMode ?? '<unset>',
  ];
}
