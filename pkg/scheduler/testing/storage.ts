/** Claims, volumes and classes for table tests. */
import type { PersistentVolume, PersistentVolumeClaim, Volume } from '#api/core/v1/types.gen.js';
import type { CSINode, CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';

export interface StoredObjects {
  /** In namespace `default`. */
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly PersistentVolume[];
  readonly classes?: readonly StorageClass[];
  readonly csiNode?: CSINode;
  /** Absent: the driver does not report capacity. */
  readonly capacities?: readonly CSIStorageCapacity[];
}

export function storageOf({ capacities, claims, classes, csiNode, volumes }: StoredObjects): Partial<StorageObjects> {
  const byName = <T extends { metadata: { name?: string } }>(list: readonly T[] = [], name: string) =>
    list.find(({ metadata }) => metadata.name === name);
  return {
    claim: (key) => (key.startsWith('default/') ? byName(claims, key.slice('default/'.length)) : undefined),
    volume: (name) => byName(volumes, name),
    volumesFor: () => volumes ?? [],
    storageClass: (name) => byName(classes, name),
    csiNode: () => csiNode,
    capacities: () => capacities,
  };
}

/** Pod volumes that mount the claims. */
export const claimVolumes = (...names: string[]): Volume[] =>
  names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));

type ClaimSpec = PersistentVolumeClaim['spec'];

export function claim(name: string, more: Partial<ClaimSpec> = {}, metadata: object = {}): PersistentVolumeClaim {
  return {
    metadata: { name, namespace: 'default', uid: name, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...more },
  };
}

/** A claim bound to the volume. */
export function boundClaim(name: string, volumeName = name, more: Partial<ClaimSpec> = {}): PersistentVolumeClaim {
  return claim(name, { volumeName, ...more }, { annotations: { [dialect.annotations.bindCompleted]: 'yes' } });
}

export function volume(name: string, more: Partial<PersistentVolume['spec']> = {}, labels = {}): PersistentVolume {
  return {
    metadata: { name, labels },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...more },
    status: { phase: 'Available' },
  };
}

/** A class that binds volumes when a pod is scheduled. */
export const delayedClass = (name: string, provisioner: string, more: Partial<StorageClass> = {}): StorageClass => ({
  metadata: { name },
  provisioner,
  volumeBindingMode: 'WaitForFirstConsumer',
  ...more,
});
