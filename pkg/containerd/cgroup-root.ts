/** The cgroup below which the pods of one containerd are: several agents on a machine must not find each other's. */
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

/** Nothing when it is there. Throws what the kernel says. */
export async function makeCgroupRoot(path: string, clock: Clock): Promise<void> {
  const tree = await newTree(clock);
  await tree.create(path);
  // As much as if the pods' cgroups lay right below that of the machine.
  await tree.limit(path, { cpuShares: milliCPUToShares(availableParallelism() * 1000) });
}

/** With all below it; what still runs there is killed. Throws when something stays. */
export async function removeCgroupRoot(path: string, clock: Clock): Promise<void> {
  await (await newTree(clock)).remove(path);
}
