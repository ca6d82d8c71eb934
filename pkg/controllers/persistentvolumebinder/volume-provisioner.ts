/** The interface of the manager's internal provisioners, and helpers for them. */

import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';

export interface VolumeProvisioner {
  /** The provisioner's name in storage classes and volumes. */
  readonly plugin: string;
  /** Creates a volume bound to the claim. Throws VolumeElsewhereError if another node must be selected. */
  provision(claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<PersistentVolume>;
  /** Deletes the content, then the volume object. */
  delete(volume: PersistentVolume): Promise<void>;
}

/** The selected node cannot have the volume: the scheduler must select another node. */
export class VolumeElsewhereError extends Error {
  override readonly name = 'VolumeElsewhereError';
}

/** The common part of provisioned volumes, already bound to the claim. Pure. */
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

/** Ignores an existing volume, because the response to an earlier attempt may have been lost. */
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
