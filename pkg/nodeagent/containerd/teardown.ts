/** Takes down everything that a containerd of one's own holds: sandboxes, mounts, its bridge. */
import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { containerdPaths } from '#nodeagent/containerd/containerd.js';
import { cgroupVersion } from '#nodeagent/containerd/machine.js';
import { removeRules } from '#nodeagent/containerd/rules.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { mountsBelow, unmount } from '#nodeagent/files/mounts.js';
import { PodCgroups } from '#nodeagent/resources/cgroups.js';

const run = promisify(execFile);

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
        // Something still runs there that is not of the runtime; it is not this function's to end.
        onRefused: () => undefined,
      }),
  );
}

/** Pids of the processes that hold the sandboxes of a data directory's containerd; they outlive it. */
export async function shimsOf(dir: string): Promise<number[]> {
  const { socket } = containerdPaths(dir);
  const found: number[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    // It may have ended since it was listed.
    const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (args[0]?.includes('containerd-shim') === true && args.includes(socket)) found.push(Number(pid));
  }
  return found;
}

/**
 * After `stopContainerd`, when no sandbox runs any more: unmounts what is left below its directories and removes its
 * network (bridge, rules, leases of addresses) and state.
 */
export async function cleanContainerd(dir: string, bridge?: string): Promise<void> {
  const paths = containerdPaths(dir, bridge);
  for (const root of [dir, paths.stateDir]) {
    for (const mount of await mountsBelow(root)) await unmount(mount, { lazy: true });
  }
  const links = await run('ip', ['-o', 'link', 'show', 'type', 'bridge']);
  if (links.stdout.includes(` ${paths.bridge}:`)) await run('ip', ['link', 'delete', paths.bridge]);
  await removeRules(paths.bridge);
  await rm(join(dir, 'ipam'), { recursive: true, force: true });
  await rm(paths.stateDir, { recursive: true, force: true });
}
