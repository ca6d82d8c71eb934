/** What pods use of the resources that may run short. Pure. */
import type { Pod } from '#api/core/v1/types.gen.js';

/** Disk space in bytes, and the number of files. */
export interface DiskAmounts {
  readonly bytes: number;
  readonly inodes: number;
}

export interface ContainerUse {
  readonly name: string;
  /** The working set; undefined if it was not measured. */
  readonly memoryBytes: number | undefined;
  /** The writable layer. */
  readonly rootfs: DiskAmounts;
  readonly logs: DiskAmounts;
}

export interface PodUse {
  /** The working set in bytes. */
  readonly memoryBytes: number;
  readonly processes: number;
  readonly containers: readonly ContainerUse[];
  /** By the pod's name of the volume. */
  readonly volumes: ReadonlyMap<string, DiskAmounts>;
}

/** By pod UID; pods that could not be measured are absent. */
export type PodUses = ReadonlyMap<string, PodUse>;

/** Parts of a pod's disk usage: writable layers, logs, and volumes on the node's disk. */
export type DiskPart = 'root' | 'logs' | 'localVolumes';

export const noDisk: DiskAmounts = { bytes: 0, inodes: 0 };

function sumDisk(amounts: Iterable<DiskAmounts>): DiskAmounts {
  let [bytes, inodes] = [0, 0];
  for (const amount of amounts) {
    bytes += amount.bytes;
    inodes += amount.inodes;
  }
  return { bytes, inodes };
}

/** The pod's usage of the file systems that hold the parts. */
export function podDisk(pod: Pod, { containers, volumes }: PodUse, parts: readonly DiskPart[]): DiskAmounts {
  const amounts: DiskAmounts[] = [];
  for (const { rootfs, logs } of containers) {
    if (parts.includes('root')) amounts.push(rootfs);
    if (parts.includes('logs')) amounts.push(logs);
  }
  if (parts.includes('localVolumes')) for (const name of localVolumes(pod)) amounts.push(volumes.get(name) ?? noDisk);
  return sumDisk(amounts);
}

/** Host paths, and volumes that live as long as the pod on the node's disk. Rules of 1.24 (localVolumeNames). */
function localVolumes({ spec }: Pod): string[] {
  return (spec.volumes ?? [])
    .filter((volume) => {
      const { hostPath, gitRepo, emptyDir, configMap } = volume;
      const isOnDisk = emptyDir !== undefined && (emptyDir.medium ?? '') === '';
      return hostPath !== undefined || gitRepo !== undefined || isOnDisk || configMap !== undefined;
    })
    .map(({ name }) => name);
}
