/** The parent cgroup of a containerd's pods: it separates the pods of several node agents on a machine. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import { diskCgroupFiles } from '#nodeagent/resources/cgroup-files.js';
import { CgroupTree, cgroupMountPoint } from '#nodeagent/resources/cgroup-tree.js';
import { milliCPUToShares } from '#nodeagent/resources/container-resources.js';
import { machineUnits } from '#nodeagent/resources/machine-units.js';
import { slicePath } from '#nodeagent/resources/slices.js';

/** What creates the cgroups of pods: the runtime itself, or systemd as slices. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

async function newTree(clock: Clock, driver: CgroupDriver): Promise<CgroupTree> {
  const version = await cgroupVersion();
  const units = driver === 'systemd' ? { units: await machineUnits(version) } : {};
  return new CgroupTree({
    ...{ files: diskCgroupFiles, clock, mountPoint: cgroupMountPoint, version, pageSizes: [] },
    ...units,
  });
}

/** Creates the cgroup unless it exists. Rejects with the kernel's or systemd's error. */
export async function makeCgroupRoot(path: string, clock: Clock, driver: CgroupDriver): Promise<void> {
  const tree = await newTree(clock, driver);
  await tree.create(path);
  // The same share as cgroups directly below the machine's root get.
  await tree.limit(path, { cpuShares: milliCPUToShares(availableParallelism() * 1000) });
}

/** Removes the cgroup of either driver and all below it, and kills their processes. Rejects when something remains. */
export async function removeCgroupRoot(path: string, clock: Clock): Promise<void> {
  await (await newTree(clock, 'cgroupfs')).remove(path);
  if (await hasSlice(path)) await (await newTree(clock, 'systemd')).remove(path);
}

/** Whether systemd has a slice for the path. Version 1 has systemd's names in a hierarchy of their own. */
async function hasSlice(path: string): Promise<boolean> {
  const hierarchy = (await cgroupVersion()) === 2 ? '' : 'systemd';
  return diskCgroupFiles.exists(join(cgroupMountPoint, hierarchy, slicePath(path)));
}
