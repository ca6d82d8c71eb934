/** Makes volumes for claims within the manager, and removes what it has made. */

import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';

export interface VolumeMaker {
  /** As classes name it, and as volumes say who made them. */
  readonly plugin: string;
  /** The volume is there, bound to the claim. Throws why there can be none, VolumeElsewhereError where another node may have it. */
  make(claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<PersistentVolume>;
  /** What it holds, then the volume. */
  delete(volume: PersistentVolume): Promise<void>;
}

/** The node that was picked for the claim's pod cannot have the volume: another one is to be picked. */
export class VolumeElsewhereError extends Error {
  override readonly name = 'VolumeElsewhereError';
}

/** What volumes that are made for a claim have in common: they are bound to it from the start. Pure. */
export function volumeForClaim(
  { metadata, spec }: PersistentVolumeClaim,
  { metadata: { name: storageClassName = '' }, reclaimPolicy = 'Delete' }: StorageClass,
  { dialect, plugin }: { readonly dialect: Dialect; readonly plugin: string },
): Draft<PersistentVolume> & { readonly metadata: { readonly annotations: Record<string, string> } } {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata;
  const { kind, group, version } = persistentvolumeclaims;
  return {
    metadata: {
      name: `pvc-${uid}`,
      annotations: {
        [dialect.annotations.boundByController]: 'yes',
        [dialect.annotations.provisionedBy]: plugin,
      },
    },
    spec: {
      capacity: { storage: spec.resources?.requests?.['storage'] ?? '0' },
      accessModes: [...(spec.accessModes ?? ['ReadWriteOnce'])],
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName,
      claimRef: { kind, apiVersion: dialect.apiVersion(group, version), namespace, name, uid, resourceVersion },
    },
  };
}

/** An earlier try may have been heard although its answer was lost. */
export async function createVolume(client: Client, volume: PersistentVolume): Promise<void> {
  try {
    await client.resource(persistentvolumes).create(volume);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

export async function deleteVolume(client: Client, { metadata }: PersistentVolume): Promise<void> {
  const { name = '', uid = '' } = metadata;
  try {
    await client.resource(persistentvolumes).delete(name, { preconditions: { uid } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
