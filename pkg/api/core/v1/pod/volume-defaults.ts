/** Defaults of volumes, in place. */
import type { AzureDiskVolumeSource, Volume } from '#api/core/v1/types.gen.js';

/** Files readable by all, writable by the owner: 0644. */
const fileMode = 0o644;
const tokenSeconds = 3600;

export function defaultVolume(volume: Volume): void {
  if (hasNoSource(volume)) volume.emptyDir = {};
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.secret !== undefined) volume.secret.defaultMode ??= fileMode;
  if (volume.configMap !== undefined) volume.configMap.defaultMode ??= fileMode;
  if (volume.downwardAPI !== undefined) {
    volume.downwardAPI.defaultMode ??= fileMode;
    defaultFieldRefs(volume.downwardAPI.items);
  }
  if (volume.projected !== undefined) {
    volume.projected.defaultMode ??= fileMode;
    for (const source of volume.projected.sources ?? []) {
      if (source.serviceAccountToken !== undefined) source.serviceAccountToken.expirationSeconds ??= tokenSeconds;
      defaultFieldRefs(source.downwardAPI?.items);
    }
  }
  defaultStorageSystems(volume);
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim !== undefined) claim.volumeMode ??= 'Filesystem';
}

function hasNoSource(volume: Volume): boolean {
  for (const field in volume) if (field !== 'name') return false;
  return true;
}

function defaultFieldRefs(items: { fieldRef?: { apiVersion?: string } }[] | undefined): void {
  for (const item of items ?? []) if (item.fieldRef !== undefined) item.fieldRef.apiVersion ||= 'v1';
}

/** Systems whose sources have defaults, the same in pods and in persistent volumes. */
interface StorageSystems {
  iscsi?: { iscsiInterface?: string };
  rbd?: { pool?: string; user?: string; keyring?: string };
  azureDisk?: AzureDiskVolumeSource;
  scaleIO?: { storageMode?: string; fsType?: string };
}

export function defaultStorageSystems({ iscsi, rbd, azureDisk, scaleIO }: StorageSystems): void {
  if (iscsi !== undefined) iscsi.iscsiInterface ||= 'default';
  if (rbd !== undefined) {
    rbd.pool ||= 'rbd';
    rbd.user ||= 'admin';
    rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (azureDisk !== undefined) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.kind ??= 'Shared';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
  }
  if (scaleIO !== undefined) {
    scaleIO.storageMode ||= 'ThinProvisioned';
    scaleIO.fsType ||= 'xfs';
  }
}
