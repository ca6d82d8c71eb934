/** Takes down everything that a containerd of one's own holds: sandboxes, mounts, its bridge. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { removeBridge } from '#containerd/bridges.js';
import { containerdPaths } from '#containerd/containerd.js';
import { type RemovalStep, takeEveryStep } from '#containerd/every-step.js';
import { removeRules } from '#containerd/rules.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { endMount, mountsBelow } from '#nodeagent/files/mounts.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import { PodCgroups } from '#nodeagent/resources/cgroups.js';

/** Stops and removes every sandbox with its containers, and the cgroups that a node agent made for their pods. */
export async function removeAllSandboxes(cri: CRI): Promise<void> {
  const cgroups = await podCgroups();
  for (const sandbox of await cri.listPodSandbox()) {
    await cri.stopPodSandbox(sandbox.id);
    await cri.removePodSandbox(sandbox.id);
    for (const each of cgroups) await each.remove(sandbox.metadata.uid);
  }
}

/** Of either dialect: it is not known here which one the agent spoke. */
async function podCgroups(): Promise<PodCgroups[]> {
  const version = await cgroupVersion();
  return [orchDialect, kubernetesDialect].map(
    (dialect) =>
      new PodCgroups({
        mountPoint: '/sys/fs/cgroup',
        version,
        root: '/',
        podsName: `${dialect.shortName}pods`,
        quota: { enforced: false, periodMicros: 100_000 },
        pidsLimit: -1,
        // Something still runs there that is not of the runtime; it is not this function's to end.
        onRefused: () => undefined,
      }),
  );
}

/**
 * After `stopContainerd`, when no sandbox runs any more: unmounts what is left below its directories and removes its
 * network (bridge, rules, leases of addresses) and state. What cannot be removed does not keep it from the rest: throws
 * LeftBehindError then.
 */
export async function cleanContainerd(dir: string, bridge?: string): Promise<void> {
  const paths = containerdPaths(dir, bridge);
  const mounts = [...(await mountsBelow(dir)), ...(await mountsBelow(paths.stateDir))];
  const remove = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  const leases = join(dir, 'ipam');
  await takeEveryStep([
    ...mounts.map((mount): RemovalStep => [`mount ${mount}`, () => endMount(mount)]),
    [`bridge ${paths.bridge}`, () => removeBridge(paths.bridge)],
    [`rules of the packet filter for ${paths.bridge}`, () => removeRules(paths.bridge)],
    [leases, () => remove(leases)],
    [paths.stateDir, () => remove(paths.stateDir)],
  ]);
}
