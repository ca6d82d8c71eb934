/** What is to be done about a volume. The decisions of release 1.24 (pkg/controller/volume/persistentvolume). Pure. */

import { hasMode } from '#api/core/v1/persistentvolume/match.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type Notice, warning } from '#controllers/persistentvolumebinder/notice.js';

export interface VolumeObservation {
  readonly dialect: Dialect;
  readonly volume: PersistentVolume;
  /** The claim that the volume names, whether or not it is still the same one. */
  readonly claim: PersistentVolumeClaim | undefined;
}

export type VolumePlan =
  | { readonly step: 'phase'; readonly phase: 'Available' | 'Bound' }
  /** The claim has to be seen to. */
  | { readonly step: 'claim' }
  /** The claim can never be bound to it. */
  | { readonly step: 'mismatch'; readonly ofVolume: Notice; readonly ofClaim: Notice }
  /** The claim is gone, or has another volume. */
  | { readonly step: 'release' }
  /** The claim has another volume: this one is free again. */
  | { readonly step: 'unbind' };

export function planVolume({ volume, claim, dialect }: VolumeObservation): VolumePlan {
  const { claimRef } = volume.spec;
  if (claimRef === undefined || (claimRef.uid ?? '') === '') return { step: 'phase', phase: 'Available' };
  if (claim === undefined || claim.metadata.uid !== claimRef.uid) return { step: 'release' };
  const { volumeName = '' } = claim.spec;
  if (volumeName === volume.metadata.name) return { step: 'phase', phase: 'Bound' };
  if (volumeName !== '') {
    const made = volume.metadata.annotations?.[dialect.annotations.provisionedBy] !== undefined;
    return { step: made && volume.spec.persistentVolumeReclaimPolicy === 'Delete' ? 'release' : 'unbind' };
  }
  if (hasMode(volume, claim)) return { step: 'claim' };
  const why = 'due to incompatible volumeMode.';
  return {
    step: 'mismatch',
    ofVolume: warning(
      'VolumeMismatch',
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" ${why}`,
    ),
    ofClaim: warning(
      'VolumeMismatch',
      `Cannot bind PersistentVolume "${volume.metadata.name}" to requested PersistentVolumeClaim ${why}`,
    ),
  };
}

/**
 * Why a released volume cannot be dealt with as its policy says; undefined when it is kept, or left to an external
 * provisioner. `honorPolicy`: volumes that are being deleted, too.
 */
export function reclaimFailure(volume: PersistentVolume, dialect: Dialect, honorPolicy: boolean): Notice | undefined {
  const { metadata, spec } = volume;
  switch (spec.persistentVolumeReclaimPolicy) {
    case 'Retain':
    // Pods empty it.
    case 'Recycle':
      return undefined;
    case 'Delete': {
      if (metadata.deletionTimestamp !== undefined && !honorPolicy) return undefined;
      const deleter = metadata.annotations?.[dialect.annotations.provisionedBy] ?? '';
      if (deleter === '') {
        const why = 'no deletable volume plugin matched';
        return warning(
          'VolumeFailedDelete',
          `error getting deleter volume plugin for volume "${metadata.name}": ${why}`,
        );
      }
      if (!deleter.startsWith(`${dialect.labelDomain}/`)) return undefined;
      return warning('VolumeFailedDelete', `no volume plugin matched name: ${deleter}`);
    }
    default:
      return warning('VolumeUnknownReclaimPolicy', 'Volume has unrecognized PersistentVolumeReclaimPolicy');
  }
}
