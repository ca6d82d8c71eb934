/** Asks drivers for the usage and the health of the volumes of pods. */
import { join } from 'node:path';
import type { Logger } from '#daemon/log/logger.js';
import type { Drivers } from '#nodeagent/csi/driver/drivers.js';
import type { CSIPaths } from '#nodeagent/csi/volumes/paths.js';
import { volumesOfPod } from '#nodeagent/csi/volumes/reconstruction.js';
import type { DriverUsage } from '#nodeagent/stats/storage-meter.js';

export interface CSIStatsOptions {
  readonly drivers: Pick<Drivers, 'operate'>;
  readonly paths: CSIPaths;
  readonly log: Logger;
  /** Volumes have a health (gate CSIVolumeHealth). */
  readonly withHealth: boolean;
}

export class CSIStats {
  readonly #options: CSIStatsOptions;

  constructor(options: CSIStatsOptions) {
    this.#options = options;
  }

  /** All volumes of a pod whose drivers report usage. A volume is left out after a failure: the next round asks again. */
  async ofPod(uid: string): Promise<DriverUsage[]> {
    const { paths } = this.#options;
    const all: DriverUsage[] = [];
    for (const { specName, isBlock, data } of await volumesOfPod(paths, uid)) {
      if (data === undefined) continue;
      const device = join(paths.device(specName).map, uid);
      const target = isBlock ? device : paths.target(uid, specName);
      const path = isBlock ? join(paths.ofPod(uid).devices, specName) : target;
      const { driverName: driver, volumeHandle: handle } = data;
      const usage = await this.#ask({ driver, handle, target });
      if (usage !== undefined) all.push({ path, specName, driver, ...usage });
    }
    return all;
  }

  async #ask({
    driver,
    handle,
    target,
  }: {
    readonly driver: string;
    readonly handle: string;
    readonly target: string;
  }): Promise<Pick<DriverUsage, 'filesystem' | 'inodesUsed' | 'health'> | undefined> {
    const { drivers, log, withHealth } = this.#options;
    try {
      return await drivers.operate(driver, async (service) => {
        if (!(await service.supports('GET_VOLUME_STATS'))) return undefined;
        const { bytes, inodes, abnormal, message } = await service.stats(handle, target);
        const hasHealth = withHealth && (await service.supports('VOLUME_CONDITION'));
        return {
          filesystem: {
            availableBytes: bytes.available,
            capacityBytes: bytes.total,
            usedBytes: bytes.used,
            inodes: inodes.total,
            inodesFree: inodes.available,
          },
          inodesUsed: inodes.used,
          ...(hasHealth ? { health: { abnormal, message } } : {}),
        };
      });
    } catch (error) {
      log.debug({ err: error, driver, handle }, 'failed to calculate volume metrics');
      return undefined;
    }
  }
}
