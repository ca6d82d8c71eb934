/** Takes down everything that a containerd of one's own holds: sandboxes, mounts, its bridge. */
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { containerdPaths } from '#nodeagent/containerd/containerd.js';
import type { CRI } from '#nodeagent/cri/cri.js';

const run = promisify(execFile);

/** Stops and removes every sandbox with its containers. */
export async function removeAllSandboxes(cri: CRI): Promise<void> {
  for (const sandbox of await cri.listPodSandbox()) {
    await cri.stopPodSandbox(sandbox.id);
    await cri.removePodSandbox(sandbox.id);
  }
}

/** Mount points below a directory, deepest first, as in `/proc/mounts`. */
export async function mountsBelow(dir: string): Promise<string[]> {
  const mounts = await readFile('/proc/mounts', 'utf8');
  return mounts
    .split('\n')
    .map((line) =>
      (line.split(' ')[1] ?? '').replace(/\\([0-7]{3})/g, (_, o: string) => String.fromCharCode(Number.parseInt(o, 8))),
    )
    .filter((path) => path === dir || path.startsWith(`${dir}/`))
    .sort((a, b) => b.length - a.length);
}

/** After `stopContainerd`: unmounts what is left below its directories and removes its bridge and state. */
export async function cleanContainerd(dir: string, bridge?: string): Promise<void> {
  const paths = containerdPaths(dir, bridge);
  for (const root of [dir, paths.stateDir]) {
    for (const mount of await mountsBelow(root)) await run('umount', ['-l', mount]);
  }
  const links = await run('ip', ['-o', 'link', 'show', 'type', 'bridge']);
  if (links.stdout.includes(` ${paths.bridge}:`)) await run('ip', ['link', 'delete', paths.bridge]);
  await rm(paths.stateDir, { recursive: true, force: true });
}
