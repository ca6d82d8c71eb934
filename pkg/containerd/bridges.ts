/** The bridges that containerds of one's own put their sandboxes on, also those of runs that were killed. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { containerdPaths } from '#containerd/containerd.js';

const run = promisify(execFile);

/** Names that `containerdPaths` gives. */
const ownName = /^cni[0-9a-f]{8}$/;

export interface Bridge {
  readonly name: string;
  /** IPv4. */
  readonly addresses: readonly string[];
}

/** Bridges named as ours that nothing is connected to and whose containerd does not run. */
export async function staleBridges(): Promise<Bridge[]> {
  const { stdout } = await run('ip', ['-json', '-4', 'address', 'show', 'type', 'bridge']);
  const links = JSON.parse(stdout === '' ? '[]' : stdout) as { ifname?: string; addr_info?: { local?: string }[] }[];
  const used = await bridgesInUse();
  const dead: Bridge[] = [];
  for (const { ifname: name = '', addr_info: infos = [] } of links) {
    if (!ownName.test(name) || used.has(name)) continue;
    const ports = await readdir(`/sys/class/net/${name}/brif`).catch(() => []);
    if (ports.length === 0) dead.push({ name, addresses: infos.flatMap(({ local }) => (local ? [local] : [])) });
  }
  return dead;
}

/** Those of all containerds that run on a configuration of ours. */
async function bridgesInUse(): Promise<Set<string>> {
  const used = new Set<string>();
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    // It may have ended since it was listed.
    const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    const config = args[args.indexOf('--config') + 1];
    if (args.includes('--config') && config?.endsWith('/config.toml'))
      used.add(containerdPaths(dirname(config)).bridge);
  }
  return used;
}

/** Removes a bridge, if there is one of that name. */
export async function removeBridge(name: string): Promise<void> {
  const links = await run('ip', ['-o', 'link', 'show', 'type', 'bridge']);
  if (links.stdout.includes(` ${name}:`)) await run('ip', ['link', 'delete', name]);
}
