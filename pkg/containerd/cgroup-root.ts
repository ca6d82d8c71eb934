/** The parent cgroup of a containerd's pods: it separates the pods of several node agents on a machine. */
import { availableParallelism } from 'node:os';
import type { Clock } from '#apimachinery/clock.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import { diskCgroupFiles } from '#nodeagent/resources/cgroup-files.js';
import { CgroupTree, cgroupMountPoint } from '#nodeagent/resources/cgroup-tree.js';
import { milliCPUToShares } from '#nodeagent/resources/container-resources.js';

async function newTree(clock: Clock): Promise<CgroupTree> {
  const version = await cgroupVersion();
  return new CgroupTree({ files: diskCgroupFiles, clock, mountPoint: cgroupMountPoint, version, pageSizes: [] });
}

/** Creates the cgroup unless it exists. Rejects with the kernel's error. */
export async function makeCgroupRoot(path: string, clock: Clock): Promise<void> {
  const tree = await newTree(clock);
  await tree.create(path);
  // The same share as cgroups directly below the machine's root get.
  await tree.limit(path, { cpuShares: milliCPUToShares(availableParallelism() * 1000) });
}

/** Removes the cgroup and all below it, and kills their processes. Rejects when something remains. */
export async function removeCgroupRoot(path: string, clock: Clock): Promise<void> {
  await (await newTree(clock)).remove(path);
}
