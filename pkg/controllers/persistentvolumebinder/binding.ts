/** Binds and unbinds claims and volumes. Each function returns the same object when nothing changes. Pure. */
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

/** Removes the reference to the claim if the controller set it; removes only the UID if a user reserved the volume. */
export function unboundVolume(volume: PersistentVolume, dialect: Dialect): PersistentVolume {
  const { claimRef, ...spec } = volume.spec;
  const { [dialect.annotations.boundByController]: boundByController, ...annotations } =
    volume.metadata.annotations ?? {};
  if (boundByController !== undefined) return { ...volume, metadata: { ...volume.metadata, annotations }, spec };
  const { uid: _uid, ...reserved } = claimRef ?? {};
  return { ...volume, spec: { ...spec, claimRef: reserved } };
}

/** Adds the volume's name. */
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

/** Adds the annotations that request a volume from an external provisioner. */
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

/** Removes the selected node, so that the scheduler chooses another node. */
export function unselectedClaim(claim: PersistentVolumeClaim, { annotations }: Dialect): PersistentVolumeClaim {
  const { [annotations.selectedNode]: selected, ...rest } = claim.metadata.annotations ?? {};
  return selected === undefined ? claim : { ...claim, metadata: { ...claim.metadata, annotations: rest } };
}

/** Sets a phase without a volume. */
export function claimInPhase(claim: PersistentVolumeClaim, phase: 'Pending' | 'Lost'): PersistentVolumeClaim {
  const { accessModes: _accessModes, capacity: _capacity, ...rest } = claim.status ?? {};
  return withStatus(claim, { ...rest, phase });
}

/**
 * Sets the status of a bound claim. The capacity is copied when the claim is bound; later the node agent updates it.
 * Throws for a volume without a capacity.
 */
export function claimBoundTo(
  claim: PersistentVolumeClaim,
  { metadata, spec }: PersistentVolume,
): PersistentVolumeClaim {
  const status = { ...claim.status, phase: 'Bound', accessModes: spec.accessModes ?? [] };
  if (claim.status?.phase !== 'Bound') {
    const size = spec.capacity?.['storage'];
    if (size === undefined) throw new Error(`PersistentVolume "${metadata.name}" is without a storage capacity`);
    const current = claim.status?.capacity?.['storage'];
    if (current === undefined || compareQuantities(current, size) !== 0) status.capacity = { ...spec.capacity };
  }
  return withStatus(claim, status);
}

function withStatus(claim: PersistentVolumeClaim, status: PersistentVolumeClaimStatus): PersistentVolumeClaim {
  return semanticEqual(claim.status ?? {}, status) ? claim : { ...claim, status };
}

export function volumeInPhase(volume: PersistentVolume, phase: string, message = ''): PersistentVolume {
  if (volume.status?.phase === phase) return volume;
  const { message: _message, ...rest } = volume.status ?? {};
  const status: PersistentVolumeStatus = { ...rest, phase, ...(message === '' ? {} : { message }) };
  return { ...volume, status };
}
