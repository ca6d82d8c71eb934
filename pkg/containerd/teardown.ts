/** Removes everything that our containerd has created: sandboxes, mounts, cgroups, and its network. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { removeBridge } from '#containerd/bridges.js';
import { removeCgroupRoot } from '#containerd/cgroup-root.js';
import { containerdPaths } from '#containerd/containerd.js';
import { type RemovalStep, takeEveryStep } from '#containerd/every-step.js';
import { removeResults } from '#containerd/network-cache.js';
import { removeRules } from '#containerd/rules.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { endMount, mountsBelow } from '#nodeagent/files/mounts.js';

/** Stops and removes every sandbox with its containers. */
export async function removeAllSandboxes(cri: CRI): Promise<void> {
  const remove = async ({ id }: { readonly id: string }) => {
    await cri.stopPodSandbox(id);
    await cri.removePodSandbox(id);
  };
  await Promise.all((await cri.listPodSandbox()).map(remove));
}

/**
 * Unmounts file systems below its directories, and removes its cgroups, network (bridge, rules, address leases) and state.
 * Call it after `stopContainerd`, when no sandbox is running. Takes every step, and throws LeftBehindError for failed ones.
 */
export async function cleanContainerd(dir: string, bridge?: string): Promise<void> {
  const paths = containerdPaths(dir, bridge);
  const mounts = [...(await mountsBelow(dir)), ...(await mountsBelow(paths.stateDir))];
  const remove = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  const leases = join(dir, 'ipam');
  await takeEveryStep([
    ...mounts.map((mount): RemovalStep => [`mount ${mount}`, () => endMount(mount)]),
    [`cgroup ${paths.cgroupRoot}`, () => removeCgroupRoot(paths.cgroupRoot, realClock)],
    [`bridge ${paths.bridge}`, () => removeBridge(paths.bridge)],
    [`iptables rules of ${paths.bridge}`, () => removeRules(paths.bridge)],
    [`results of ${paths.bridge}`, () => removeResults(paths.bridge)],
    [leases, () => remove(leases)],
    [paths.stateDir, () => remove(paths.stateDir)],
  ]);
}
