/** Finds the volumes that an earlier agent, or 1.24's, left on this node. */
import { dirname, join } from 'node:path';
import type { Logger } from '#daemon/log/logger.js';
import { namesIn } from '#nodeagent/csi/volumes/absent.js';
import type { StagedVolume } from '#nodeagent/csi/volumes/ledger.js';
import type { CSIPaths } from '#nodeagent/csi/volumes/paths.js';
import { loadVolumeData, type VolumeData } from '#nodeagent/csi/volumes/volume-data.js';

/** A volume that may be published for a pod. */
export interface PodVolume {
  readonly uid: string;
  readonly specName: string;
  readonly isBlock: boolean;
  /** Absent if the directory has no data: nothing was published. */
  readonly data?: VolumeData;
}

/** The CSI volumes in a pod's directories. */
export async function volumesOfPod(paths: CSIPaths, uid: string): Promise<PodVolume[]> {
  const { files, devices } = paths.ofPod(uid);
  const volumes: PodVolume[] = [];
  for (const specName of await namesIn(files)) {
    const data = await loadVolumeData(dirname(paths.target(uid, specName)));
    volumes.push({ uid, specName, isBlock: false, ...(data && { data }) });
  }
  for (const specName of await namesIn(devices)) {
    const data = await loadVolumeData(paths.device(specName).data);
    volumes.push({ uid, specName, isBlock: true, ...(data && { data }) });
  }
  return volumes;
}

/**
 * The devices of a pod that were published without a link for its containers, since an agent crashed or the driver hung
 * in between.
 */
export async function unlinkedDevicesOfPod(paths: CSIPaths, uid: string): Promise<PodVolume[]> {
  const volumes: PodVolume[] = [];
  const { devices } = paths.ofPod(uid);
  const linked = new Set(await namesIn(devices));
  for (const specName of await deviceNames(paths)) {
    if (linked.has(specName)) continue;
    const { published, map, data: dir } = paths.device(specName);
    const isOwn = (await namesIn(published)).includes(uid) || (await namesIn(map)).includes(uid);
    const data = isOwn ? await loadVolumeData(dir) : undefined;
    if (data !== undefined) volumes.push({ uid, specName, isBlock: true, data });
  }
  return volumes;
}

/** Names of the persistent volumes that have device directories. */
async function deviceNames(paths: CSIPaths): Promise<string[]> {
  const { all } = paths.device('');
  return (await namesIn(all)).filter((name) => name !== 'staging' && name !== 'publish');
}

/** Everything that drivers may have staged. Logs directories that cannot be read, and leaves them alone. */
export async function stagedVolumes(paths: CSIPaths, log: Logger): Promise<StagedVolume[]> {
  const staged: StagedVolume[] = [];
  const add = async (dir: string, of: (data: VolumeData) => StagedVolume | undefined) => {
    try {
      const data = await loadVolumeData(dir);
      const volume = data && of(data);
      if (volume !== undefined) staged.push(volume);
    } catch (error) {
      log.error({ err: error, dir }, 'failed to read the data of a volume');
    }
  };
  for (const driver of await namesIn(paths.root)) {
    if (driver === 'volumeDevices') continue;
    for (const name of await namesIn(join(paths.root, driver))) {
      const dir = join(paths.root, driver, name);
      await add(dir, ({ driverName, volumeHandle }) => {
        // The data of another directory would lead to the wrong one.
        if (dirname(paths.staging(driverName, volumeHandle)) !== dir) return undefined;
        return { driver: driverName, handle: volumeHandle, specName: '', isBlock: false };
      });
    }
  }
  for (const specName of await deviceNames(paths)) {
    await add(paths.device(specName).data, ({ driverName: driver, volumeHandle: handle }) => {
      return { driver, handle, specName, isBlock: true };
    });
  }
  return staged;
}
