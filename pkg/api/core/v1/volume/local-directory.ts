/** Volumes that are directories of nodes, made for claims: what the controller manager and the node agents know of them. */
import type { Dialect } from '#apimachinery/dialect.js';

/** As classes name the provisioner, and as volumes say who made them. The CSIDriver that tells of its capacity has the name. */
export function localDirectoryProvisioner(dialect: Dialect): string {
  return `local.${dialect.groupName('storage')}`;
}

/** Where a node agent makes (`PUT`) and removes (`DELETE`) directories: `/localVolumes/NAME`, NAME that of the volume. */
export const localVolumesPath = 'localVolumes';

/** Query of `PUT`: how much the directory may take. */
export const localVolumeBytes = 'bytes';

/** What a node agent answers when the directory is there. */
export interface LocalVolumeMade {
  readonly path: string;
}
