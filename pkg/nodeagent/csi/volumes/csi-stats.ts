/** Asks drivers for the usage and the health of the volumes of pods. */
import { join } from 'node:path';
import type { Drivers } from '#nodeagent/csi/driver/drivers.js';
import type { VolumeStats } from '#nodeagent/csi/driver/volume-stats.js';
import type { CSIPaths } from '#nodeagent/csi/volumes/paths.js';
import { volumesOfPod } from '#nodeagent/csi/volumes/reconstruction.js';

export interface CSIStatsOptions {
  readonly drivers: Pick<Drivers, 'operate'>;
  readonly paths: CSIPaths;
  /** Volumes have a health (gate CSIVolumeHealth). */
  readonly withHealth: boolean;
}

export interface CSIVolumeStats {
  /** The persistent volume's name, or the pod's name for an inline volume. */
  readonly specName: string;
  /** Where the agent has the volume. */
  readonly path: string;
  readonly driver: string;
  /** Undefined if the driver reports none, or if the call failed. */
  readonly stats: VolumeStats | undefined;
  /** Undefined unless the driver reports health. */
  readonly health: { readonly abnormal: boolean; readonly message: string } | undefined;
}

export class CSIStats {
  readonly #options: CSIStatsOptions;

  constructor(options: CSIStatsOptions) {
    this.#options = options;
  }

  /** All volumes of a pod whose drivers report usage. Failures are left out: the next round asks again. */
  async ofPod(uid: string): Promise<CSIVolumeStats[]> {
    const { paths } = this.#options;
    const all: CSIVolumeStats[] = [];
    for (const { specName, isBlock, data } of await volumesOfPod(paths, uid)) {
      if (data === undefined) continue;
      const device = join(paths.device(specName).map, uid);
      const target = isBlock ? device : paths.target(uid, specName);
      const path = isBlock ? join(paths.ofPod(uid).devices, specName) : target;
      const result = await this.#ask(data.driverName, data.volumeHandle, target);
      if (result !== undefined) all.push({ specName, path, driver: data.driverName, ...result });
    }
    return all;
  }

  async #ask(
    driver: string,
    handle: string,
    path: string,
  ): Promise<Pick<CSIVolumeStats, 'stats' | 'health'> | undefined> {
    try {
      return await this.#options.drivers.operate(driver, async (service) => {
        if (!(await service.supports('GET_VOLUME_STATS'))) return undefined;
        const stats = await service.stats(handle, path);
        const hasHealth = this.#options.withHealth && (await service.supports('VOLUME_CONDITION'));
        return { stats, health: hasHealth ? { abnormal: stats.abnormal, message: stats.message } : undefined };
      });
    } catch {
      // As in 1.24, the volume has no statistics then.
      return undefined;
    }
  }
}
