/** The names of attachable volumes and their attachments. Pure. */
import { createHash } from 'node:crypto';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** A volume of a CSI driver. */
export interface AttachableVolume {
  /** The PersistentVolume's name. */
  readonly name: string;
  readonly driver: string;
  /** The name in the status of nodes. */
  readonly uniqueName: string;
  /** The driver's name for the volume. */
  readonly handle: string;
  /** Whether the volume can be attached to one node only. */
  readonly exclusive: boolean;
}

/** Undefined for a volume without a CSI driver. */
export function attachable({ metadata, spec }: PersistentVolume, dialect: Dialect): AttachableVolume | undefined {
  if (spec.csi === undefined) return undefined;
  const { driver, volumeHandle: handle } = spec.csi;
  const modes = spec.accessModes ?? [];
  return {
    name: metadata.name ?? '',
    driver,
    handle,
    uniqueName: `${dialect.labelDomain}/csi/${driver}^${handle}`,
    exclusive: modes.length > 0 && !modes.includes('ReadWriteMany') && !modes.includes('ReadOnlyMany'),
  };
}

/** The object that requests the attachment from the driver. Node agents expect this name. */
export function attachmentFor({ name, driver, handle }: AttachableVolume, nodeName: string): VolumeAttachment {
  const hash = createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex');
  return {
    metadata: { name: `csi-${hash}` },
    spec: { attacher: driver, nodeName, source: { persistentVolumeName: name } },
  };
}
