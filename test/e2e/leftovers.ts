/** Traces that pods and clusters leave on a machine, outside of the cluster's own data. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { layoutOf } from '#cmd/orch/layout.js';
import { containerdPaths } from '#containerd/containerd.js';
import { mountsBelow } from '#nodeagent/files/mounts.js';
import { nodeNames, processesOf } from '#test/e2e/observe.js';

const run = promisify(execFile);

/** Names in a folder; none where there is no folder. */
function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Folders of volumes and logs that belong to pods of the cluster's nodes. */
export async function podFolders(dataDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const node of nodeNames(dataDir)) {
    for (const folder of ['pods', 'logs']) {
      const path = join(layoutOf(dataDir).node(node), folder);
      found.push(...(await entries(path)).map((name) => join(path, name)));
    }
  }
  return found;
}

/** Mounts below the data directory that belong to pods. */
export function podMounts(dataDir: string): Promise<string[]> {
  return mountsBelow(join(dataDir, 'nodes'));
}

/** Control groups, in any hierarchy, named after one of the pods. */
export async function podCgroups(uids: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = [];
  for (const hierarchy of await entries('/sys/fs/cgroup')) {
    for (const parent of await entries(join('/sys/fs/cgroup', hierarchy))) {
      if (!parent.endsWith('pods')) continue;
      for (const level of ['', 'burstable', 'besteffort']) {
        const folder = join('/sys/fs/cgroup', hierarchy, parent, level);
        const names = (await entries(folder)).filter((name) => uids.has(name.replace(/^pod/, '')));
        found.push(...names.map((name) => join(folder, name)));
      }
    }
  }
  return found;
}

/** Addresses that the network of the cluster's first node has given away. */
export async function leasedAddresses(dataDir: string): Promise<string[]> {
  const dir = layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? '');
  const { bridge } = containerdPaths(dir);
  return (await entries(join(dir, 'ipam', bridge))).filter((name) => /^\d+(\.\d+){3}$/.test(name));
}

/** Network namespaces of the cluster's sandboxes, as the runtime has written them down for runc. */
export async function networkNamespaces(dataDir: string): Promise<string[]> {
  const { stateDir } = containerdPaths(layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? ''));
  const bundles = join(stateDir, 'io.containerd.runtime.v2.task', 'k8s.io');
  const found = new Set<string>();
  for (const id of await entries(bundles)) {
    const text = await readFile(join(bundles, id, 'config.json'), 'utf8').catch(() => '{}');
    const config = JSON.parse(text) as { linux?: { namespaces?: { type: string; path?: string }[] } };
    const path = config.linux?.namespaces?.find(({ type }) => type === 'network')?.path;
    if (path?.startsWith('/var/run/netns/') === true) found.add(path.slice('/var/run/netns/'.length));
  }
  return [...found];
}

export interface Footprint {
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly links: readonly string[];
  readonly rules: readonly string[];
  readonly namespaces: readonly string[];
}

/**
 * What a cluster that is down has left running or set up in the kernel.
 * @param ranges Beginnings of its addresses, which no other cluster uses.
 * @param namespaces Network namespaces that its sandboxes had.
 */
export async function footprint(
  dataDir: string,
  { ranges, namespaces }: { ranges: readonly string[]; namespaces: readonly string[] },
): Promise<Footprint> {
  const { bridge, stateDir } = containerdPaths(layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? ''));
  const links = (await run('ip', ['-o', 'link'])).stdout.split('\n');
  const rules = (await run('iptables-save', [])).stdout.split('\n');
  const known = new Set(await entries('/var/run/netns'));
  return {
    processes: await processesOf(dataDir),
    mounts: [...(await mountsBelow(dataDir)), ...(await mountsBelow(stateDir))],
    links: links.filter((line) => line.includes(bridge)),
    // Rules that bear a network's name are that network's, whatever their addresses.
    rules: rules.filter(
      (line) =>
        line.includes(bridge) || (!line.includes('name: ') && ranges.some((range) => line.includes(` ${range}`))),
    ),
    namespaces: namespaces.filter((name) => known.has(name)),
  };
}

export const nothing: Footprint = { processes: [], mounts: [], links: [], rules: [], namespaces: [] };
