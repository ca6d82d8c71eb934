/** The bridges of our containerds, with those of killed runs. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { containerdPaths } from '#containerd/containerd.js';

const run = promisify(execFile);

/** Pattern of the names from `containerdPaths`. */
const ownName = /^cni[0-9a-f]{8}$/;

export interface Bridge {
  readonly name: string;
  /** IPv4. */
  readonly addresses: readonly string[];
}

/** Our bridges without connected sandboxes and without a running containerd. */
export async function staleBridges(): Promise<Bridge[]> {
  const { stdout } = await run('ip', ['-json', '-4', 'address', 'show', 'type', 'bridge']);
  const links = JSON.parse(stdout === '' ? '[]' : stdout) as { ifname?: string; addr_info?: { local?: string }[] }[];
  const used = await bridgesInUse();
  const stale: Bridge[] = [];
  for (const { ifname: name = '', addr_info: infos = [] } of links) {
    if (!ownName.test(name) || used.has(name)) continue;
    const ports = await readdir(`/sys/class/net/${name}/brif`).catch(() => []);
    if (ports.length === 0) stale.push({ name, addresses: infos.flatMap(({ local }) => (local ? [local] : [])) });
  }
  return stale;
}

/** Bridges of the running containerds with our configuration files. */
async function bridgesInUse(): Promise<Set<string>> {
  const used = new Set<string>();
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    // The process may have exited since it was listed.
    const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    const config = args[args.indexOf('--config') + 1];
    if (args.includes('--config') && config?.endsWith('/config.toml'))
      used.add(containerdPaths(dirname(config)).bridge);
  }
  return used;
}

/** Removes the bridge if it exists. */
export async function removeBridge(name: string): Promise<void> {
  const links = await run('ip', ['-o', 'link', 'show', 'type', 'bridge']);
  if (links.stdout.includes(` ${name}:`)) await run('ip', ['link', 'delete', name]);
}
