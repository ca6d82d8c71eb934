/** Local directory volumes provisioned for claims: the protocol between the controller manager and node agents. */
import type { Dialect } from '#apimachinery/dialect.js';

/** The provisioner's name in storage classes and volumes, and the name of the CSIDriver with its capacity. */
export function localDirectoryProvisioner(dialect: Dialect): string {
  return `local.${dialect.groupName('storage')}`;
}

/** Path at which a node agent creates (`PUT`) and removes (`DELETE`) directories: `/localVolumes/VOLUME`. */
export const localVolumesPath = 'localVolumes';

/** Query of `PUT`: maximum size of the directory. */
export const localVolumeBytes = 'bytes';

/** A node agent's response when the directory exists. */
export interface LocalVolumeResponse {
  readonly path: string;
}
