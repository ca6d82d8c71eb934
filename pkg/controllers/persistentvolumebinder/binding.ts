/**
 * A claim and a volume as they are when bound to each other. Each function gives back the very object that it was given
 * where nothing is to change. Pure.
 */
import { annotate } from '#api/core/v1/persistentvolume/binding.js';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
  PersistentVolumeStatus,
} from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { compareQuantities } from '#apimachinery/quantity.js';

const yes = 'yes';

/** The volume without the claim's UID, and without the claim where the controller had chosen it. */
export function unboundVolume(volume: PersistentVolume, dialect: Dialect): PersistentVolume {
  const { claimRef, ...spec } = volume.spec;
  const { [dialect.annotations.boundByController]: chosen, ...annotations } = volume.metadata.annotations ?? {};
  if (chosen !== undefined) return { ...volume, metadata: { ...volume.metadata, annotations }, spec };
  const { uid: _uid, ...reserved } = claimRef ?? {};
  return { ...volume, spec: { ...spec, claimRef: reserved } };
}

/** The claim with the volume's name. */
export function boundClaim(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  { annotations }: Dialect,
): PersistentVolumeClaim {
  const { name = '' } = volume.metadata;
  const byUser = claim.spec.volumeName === name;
  const annotated = annotate(claim, {
    ...(byUser ? {} : { [annotations.boundByController]: yes }),
    [annotations.bindCompleted]: yes,
  });
  return byUser ? annotated : { ...annotated, spec: { ...claim.spec, volumeName: name } };
}

/** The claim with the annotations that make an external provisioner make a volume. */
export function provisioningClaim(
  claim: PersistentVolumeClaim,
  provisioner: string,
  { annotations }: Dialect,
): PersistentVolumeClaim {
  if (claim.metadata.annotations?.[annotations.storageProvisioner] === provisioner) return claim;
  return annotate(claim, {
    [annotations.betaStorageProvisioner]: provisioner,
    [annotations.storageProvisioner]: provisioner,
  });
}

/** The claim for which the scheduler is to pick another node. */
export function unselectedClaim(claim: PersistentVolumeClaim, { annotations }: Dialect): PersistentVolumeClaim {
  const { [annotations.selectedNode]: selected, ...kept } = claim.metadata.annotations ?? {};
  return selected === undefined ? claim : { ...claim, metadata: { ...claim.metadata, annotations: kept } };
}

/** The claim in a phase other than `Bound`, in which it has no volume. */
export function claimInPhase(claim: PersistentVolumeClaim, phase: 'Pending' | 'Lost'): PersistentVolumeClaim {
  const { accessModes: _accessModes, capacity: _capacity, ...kept } = claim.status ?? {};
  return withStatus(claim, { ...kept, phase });
}

/**
 * The claim with what its volume offers. The capacity is that of the volume when it is bound; later it is what the node
 * has made of it. Throws for a volume without a capacity.
 */
export function claimBoundTo(
  claim: PersistentVolumeClaim,
  { metadata, spec }: PersistentVolume,
): PersistentVolumeClaim {
  const status = { ...claim.status, phase: 'Bound', accessModes: spec.accessModes ?? [] };
  if (claim.status?.phase !== 'Bound') {
    const size = spec.capacity?.['storage'];
    if (size === undefined) throw new Error(`PersistentVolume "${metadata.name}" is without a storage capacity`);
    const known = claim.status?.capacity?.['storage'];
    if (known === undefined || compareQuantities(known, size) !== 0) status.capacity = { ...spec.capacity };
  }
  return withStatus(claim, status);
}

function withStatus(claim: PersistentVolumeClaim, status: PersistentVolumeClaimStatus): PersistentVolumeClaim {
  return semanticEqual(claim.status ?? {}, status) ? claim : { ...claim, status };
}

export function volumeInPhase(volume: PersistentVolume, phase: string, message = ''): PersistentVolume {
  if (volume.status?.phase === phase) return volume;
  const { message: _message, ...kept } = volume.status ?? {};
  const status: PersistentVolumeStatus = { ...kept, phase, ...(message === '' ? {} : { message }) };
  return { ...volume, status };
}
