/** The state of a pod's claims; rules of release 1.24. */
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyFor } from '#apimachinery/object-key.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';

export interface WaitingClaim {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
}

export interface PodClaims {
  /** Volumes of bound claims; undefined: the volume does not exist. */
  readonly volumes: readonly (PersistentVolume | undefined)[];
  /** Claims whose volume is chosen together with the node, smallest first. */
  readonly waiting: readonly WaitingClaim[];
}

/** The pod's claims, or why they rule out all nodes. */
export function claimsOf(pod: Pod, storage: StorageObjects, dialect: Dialect): PodClaims | string {
  const { name: podName = '', namespace = '', uid } = pod.metadata;
  const volumes: (PersistentVolume | undefined)[] = [];
  const waiting: WaitingClaim[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const name = claimNameOf(podName, volume);
    if (name === undefined) continue;
    const shown = JSON.stringify(name);
    const claim = storage.claim(keyFor(namespace, name));
    if (claim === undefined) {
      return volume.ephemeral === undefined
        ? `persistentvolumeclaim ${shown} not found`
        : `waiting for ephemeral volume controller to create the persistentvolumeclaim ${shown}`;
    }
    if (claim.status?.phase === 'Lost') {
      return `persistentvolumeclaim ${shown} bound to non-existent persistentvolume ${JSON.stringify(claim.spec.volumeName ?? '')}`;
    }
    if (claim.metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim ${shown} is being deleted`;
    const owned = claim.metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid);
    if (volume.ephemeral !== undefined && owned !== true) {
      return `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
    }
    if (isBound(claim, dialect)) {
      volumes.push(storage.volume(claim.spec.volumeName ?? ''));
      continue;
    }
    const storageClass = storage.storageClass(storageClassOf(claim, dialect));
    const delayed = storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
    if (storageClass === undefined || !delayed || (claim.spec.volumeName ?? '') !== '') {
      return 'pod has unbound immediate PersistentVolumeClaims';
    }
    waiting.push({ claim, storageClass });
  }
  return { volumes, waiting: waiting.sort((a, b) => compareQuantities(sizeOf(a.claim), sizeOf(b.claim))) };
}

export const sizeOf = ({ spec }: PersistentVolumeClaim): string => spec.resources?.requests?.['storage'] ?? '0';

/** Whether claim and volume are bound to each other. */
export function isBound({ metadata, spec }: PersistentVolumeClaim, { annotations }: Dialect): boolean {
  return (spec.volumeName ?? '') !== '' && metadata.annotations?.[annotations.bindCompleted] !== undefined;
}
