/** Takes down everything that a containerd of one's own holds: sandboxes, mounts, its bridge. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { removeBridge } from '#containerd/bridges.js';
import { removeCgroupRoot } from '#containerd/cgroup-root.js';
import { containerdPaths } from '#containerd/containerd.js';
import { type RemovalStep, takeEveryStep } from '#containerd/every-step.js';
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
 * After `stopContainerd`, when no sandbox runs any more: unmounts what is left below its directories and removes its
 * cgroups, its network (bridge, rules, leases of addresses) and state. What cannot be removed does not keep it from the rest: throws
 * LeftBehindError then.
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
    [`rules of the packet filter for ${paths.bridge}`, () => removeRules(paths.bridge)],
    [leases, () => remove(leases)],
    [paths.stateDir, () => remove(paths.stateDir)],
  ]);
}
