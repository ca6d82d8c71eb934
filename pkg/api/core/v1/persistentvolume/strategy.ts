import { validateVolume, validateVolumeUpdate } from '#api/core/v1/persistentvolume/validation.js';
import { persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import { allowedAccessModes, formatAccessModes } from '#api/core/v1/volume/access-modes.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';

export const persistentVolumeStrategy: Strategy<PersistentVolume> = kindStrategy<PersistentVolume>(persistentvolumes, {
  deletionAnswer: 'object',
  keepStatusOnCreate: true,
  prepareForCreate(volume) {
    volume.status = { ...volume.status, phase: volume.status?.phase || 'Pending' };
  },
  validate: (volume, { dialect, gate }, old) =>
    validateVolume(volume, { dialect, modes: allowedAccessModes(gate, old?.spec.accessModes) }),
  validateUpdate: (volume, old) => validateVolumeUpdate(volume.spec, old.spec),
  cells: (volume, context) => volumeCells(volume, context),
});

function volumeCells(volume: PersistentVolume, { dialect, now }: StrategyContext): TableRowCells {
  const { metadata, spec, status } = volume;
  const claim = spec.claimRef;
  return [
    metadata.name ?? '',
    spec.capacity?.['storage'] ?? '',
    formatAccessModes(spec.accessModes),
    spec.persistentVolumeReclaimPolicy ?? '',
    metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
    claim === undefined ? '' : `${claim.namespace ?? ''}/${claim.name ?? ''}`,
    storageClassOf(volume, dialect),
    status?.reason ?? '',
    age(metadata.creationTimestamp, now),
    spec.volumeMode ?? '<unset>',
  ];
}
