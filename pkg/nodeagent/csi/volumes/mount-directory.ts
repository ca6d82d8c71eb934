/** Removes the directory of a volume that the driver no longer has mounted. */
import { dirname } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { removeEmptyDirectory } from '#nodeagent/csi/volumes/absent.js';
import { removeVolumeData } from '#nodeagent/csi/volumes/volume-data.js';
import { mountsOn } from '#nodeagent/files/mounts.js';

/**
 * Removes the mount point, the volume's data and their directory, as 1.24 does; nothing while something is mounted, so
 * that the volume is unpublished later. Throws Error if the directories have other files.
 */
export async function removeMountDirectory(path: string): Promise<void> {
  if ((await mountsOn(path)).length > 0) return;
  try {
    await removeEmptyDirectory(path);
  } catch (error) {
    throw new Error(`failed to remove dir [${path}]: ${messageOf(error)}`, { cause: error });
  }
  const dir = dirname(path);
  await removeVolumeData(dir);
  try {
    await removeEmptyDirectory(dir);
  } catch (error) {
    throw new Error(`failed to delete volume path [${dir}]: ${messageOf(error)}`, { cause: error });
  }
}

/** Like `removeMountDirectory` after a failure, which is more important than one of the removal; the latter is logged. */
export async function removeFailedMountDirectory(path: string, log: Logger): Promise<void> {
  try {
    await removeMountDirectory(path);
  } catch (error) {
    log.error({ err: error, path }, 'failed to remove the directory of a volume that was not mounted');
  }
}
