/** What a volume is called where it is attached. Pure. */
import { createHash } from 'node:crypto';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** A volume of a driver that attaches volumes to nodes. */
export interface AttachableVolume {
  /** Of the PersistentVolume. */
  readonly name: string;
  readonly driver: string;
  /** As in the statuses of nodes. */
  readonly uniqueName: string;
  /** As the driver calls it. */
  readonly handle: string;
  /** Whether it may be attached to one node only. */
  readonly exclusive: boolean;
}

/** Undefined for a volume of no driver. */
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

/** What asks the driver to attach the volume. The name is the one that nodes look for. */
export function attachmentFor({ name, driver, handle }: AttachableVolume, nodeName: string): VolumeAttachment {
  const hash = createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex');
  return {
    metadata: { name: `csi-${hash}` },
    spec: { attacher: driver, nodeName, source: { persistentVolumeName: name } },
  };
}
